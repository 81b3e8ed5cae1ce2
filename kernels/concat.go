package kernels

import (
	"github.com/opgen/opgen/generated/concat"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// Concat is the kernel of concat.
type Concat[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements of the output from the inputs.
func (Concat[T]) Forward(_ *op.Ctx, a *concat.Forward[T], r op.Range) error {
	pieces(a.Dims.C, shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Copy(a.Output.Span(at, at+n), a.Input[k].Span(from, from+n))
	})
	return nil
}

// ConcatBackward is the kernel of concat's backward.
type ConcatBackward[T dtype.Float] struct{}

// Backward copies the gradient of the output to the gradients of the inputs, by elements.
func (ConcatBackward[T]) Backward(_ *op.Ctx, a *concat.Backward[T], r op.Range) error {
	pieces(a.Dims.C, shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Put(a.GradInput[k].Span(from, from+n), a.GradOutput.Span(at, at+n))
	})
	return nil
}
