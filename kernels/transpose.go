package kernels

import (
	"github.com/opgen/opgen/generated/transpose"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// Transpose is the kernel of transpose. It runs over the elements of the output.
type Transpose[T dtype.Float | dtype.Index | bool] struct{}

// transposed walks the output, from element start; its offset is that of the element of the input.
func transposed(d *transpose.Dims, start int) *index.Walk {
	return index.New(shape.Permute(d.X, d.P), start, shape.Permute(shape.Strides(d.X), d.P))
}

// Forward copies elements.
func (Transpose[T]) Forward(_ *op.Ctx, a *transpose.Forward[T], r op.Range) error {
	w := transposed(&a.Dims, r.Lo)
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, a.Input.At(w.Offset(0)))
		w.Next()
	}
	return nil
}

// TransposeBackward is the kernel of transpose's backward.
type TransposeBackward[T dtype.Float] struct{}

// Backward copies elements of the gradient.
func (TransposeBackward[T]) Backward(_ *op.Ctx, a *transpose.Backward[T], r op.Range) error {
	w := transposed(&a.Dims, r.Lo)
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(w.Offset(0), a.GradOutput.At(i))
		w.Next()
	}
	return nil
}
