package kernels

import (
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Topk is the kernel of topk.
type Topk[T dtype.Float | dtype.Index] struct{}

// Forward finds the largest elements of rows.
func (Topk[T]) Forward(ctx *op.Ctx, a *topk.Forward[T], r op.Range) error {
	order := a.Order.Of(ctx.Worker).Lane(0)
	for i := r.Lo; i < r.Hi; i++ {
		row := a.Input.Lane(i)
		vec.Largest(order, row, a.Attrs.K, a.Attrs.Sorted)
		for k := range a.Attrs.K {
			at := order.At(k)
			a.Output.Lane(i).Set(k, row.At(int(at)))
			a.Indices.Lane(i).Set(k, at)
		}
	}
	return nil
}

// TopkBackward is the kernel of topk's backward.
type TopkBackward[T dtype.Float] struct{}

// Backward contributes the gradient of rows: the output's gradient at elements that were among the largest,
// and 0 elsewhere.
func (TopkBackward[T]) Backward(ctx *op.Ctx, a *topk.Backward[T], r op.Range) error {
	row := a.Row.Of(ctx.Worker).Lane(0) // all 0 between rows of the tensor
	vec.Fill(row.WO(), 0)
	for i := r.Lo; i < r.Hi; i++ {
		at, grad := a.Indices.Lane(i), a.GradOutput.Lane(i)
		for k := range a.Attrs.K {
			row.Set(int(at.At(k)), grad.At(k))
		}
		vec.Put(a.GradInput.Lane(i), row.RO())
		for k := range a.Attrs.K {
			row.Set(int(at.At(k)), 0)
		}
	}
	return nil
}
