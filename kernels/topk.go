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

// Backward puts the gradient of rows: that of the output where an element was largest, 0 elsewhere.
func (TopkBackward[T]) Backward(ctx *op.Ctx, a *topk.Backward[T], r op.Range) error {
	place := a.Order.Of(ctx.Worker) // of each element, its place in the output, counted from 1
	for i := r.Lo; i < r.Hi; i++ {
		vec.Fill(place.Span(0, place.Len()).WO(), 0)
		for k := range a.Attrs.K {
			place.Set(int(a.Indices.Lane(i).At(k)), int64(k+1))
		}
		grad, to := a.GradOutput.Lane(i), a.GradInput.Lane(i)
		for k := range to.Len() {
			var g T
			if at := int(place.At(k)); at > 0 {
				g = grad.At(at - 1)
			}
			to.Put(k, g)
		}
	}
	return nil
}
