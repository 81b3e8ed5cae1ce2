package kernels

import (
	"example.com/cookbook/generated/scatteradd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// ScatterAdd is the kernel of scatter_add.
type ScatterAdd[T dtype.Float, I dtype.Index] struct{}

// Forward copies input and adds the updates, in order.
func (ScatterAdd[T, I]) Forward(_ *op.Ctx, a *scatteradd.Forward[T, I], _ op.Range) error {
	for i := range a.Input.Len() {
		a.Output.Set(i, a.Input.At(i))
	}
	width := a.Dims.C
	for k := range a.Dims.K {
		row := int(a.Index.At(k))
		for c := range width {
			at := row*width + c
			a.Output.Set(at, a.Output.At(at)+a.Updates.At(k*width+c))
		}
	}
	return nil
}

// BackwardInput passes rows r.Lo to r.Hi-1 on.
func (ScatterAdd[T, I]) BackwardInput(_ *op.Ctx, a *scatteradd.Backward[T, I], r op.Range) error {
	for i := r.Lo * a.Dims.C; i < r.Hi*a.Dims.C; i++ {
		a.GradInput.Put(i, a.GradOutput.At(i))
	}
	return nil
}

// BackwardUpdates gives updates r.Lo to r.Hi-1 the gradients of their rows.
func (ScatterAdd[T, I]) BackwardUpdates(_ *op.Ctx, a *scatteradd.Backward[T, I], r op.Range) error {
	width := a.Dims.C
	for k := r.Lo; k < r.Hi; k++ {
		row := int(a.Index.At(k))
		for c := range width {
			a.GradUpdates.Put(k*width+c, a.GradOutput.At(row*width+c))
		}
	}
	return nil
}
