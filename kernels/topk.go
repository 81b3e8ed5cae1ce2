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

// Backward adds the gradient of rows to the elements that were largest.
func (TopkBackward[T]) Backward(_ *op.Ctx, a *topk.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		for k := range a.Attrs.K {
			a.GradInput.Lane(i).Add(int(a.Indices.Lane(i).At(k)), a.GradOutput.Lane(i).At(k))
		}
	}
	return nil
}
