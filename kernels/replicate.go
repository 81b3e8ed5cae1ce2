package kernels

import (
	"github.com/opgen/opgen/generated/replicate"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// Replicate is the kernel of replicate. Its forward runs over the elements of all copies, one after the
// other.
type Replicate[T dtype.Float] struct{}

// Forward copies elements.
func (Replicate[T]) Forward(_ *op.Ctx, a *replicate.Forward[T], r op.Range) error {
	pieces(shards(1, a.Attrs.ReplicateDegree), shape.Prod(a.Dims.N), r.Lo, r.Hi, func(k, from, _, n int) {
		vec.Copy(a.Copy[k].Span(from, from+n), a.Input.Span(from, from+n))
	})
	return nil
}

// Backward sums the gradients of the copies.
func (Replicate[T]) Backward(_ *op.Ctx, a *replicate.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, vec.TotalAt(a.GradCopy, i))
	}
	return nil
}
