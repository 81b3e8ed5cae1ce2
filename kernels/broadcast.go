package kernels

import (
	"github.com/opgen/opgen/generated/broadcast"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/kernels/internal/stats"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// Broadcast is the kernel of broadcast.
type Broadcast[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements of the output.
func (Broadcast[T]) Forward(_ *op.Ctx, a *broadcast.Forward[T], r op.Range) error {
	to := a.Attrs.TargetDims.Values()
	w := index.New(to, r.Lo, shape.BroadcastStrides(a.Dims.X, to))
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, a.Input.At(w.Offset(0)))
		w.Next()
	}
	return nil
}

// BroadcastBackward is the kernel of broadcast's backward.
type BroadcastBackward[T dtype.Float] struct{}

// Backward sums the gradients of all copies of elements of the input.
func (BroadcastBackward[T]) Backward(_ *op.Ctx, a *broadcast.Backward[T], r op.Range) error {
	to := a.Attrs.TargetDims.Values()
	copies := index.NewGroups(to, shape.BroadcastAxes(a.Dims.X, to), r.Lo)
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, T(stats.Sum(a.GradOutput, copies)))
		copies.Next()
	}
	return nil
}
