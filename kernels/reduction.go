package kernels

import (
	"github.com/opgen/opgen/generated/reduction"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// Reduction is the kernel of reduction. Its backward runs over the elements of all shards, one after the
// other.
type Reduction[T dtype.Float] struct{}

// Forward sums elements of the shards.
func (Reduction[T]) Forward(_ *op.Ctx, a *reduction.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, vec.TotalAt(a.Shard, i))
	}
	return nil
}

// Backward copies the gradient of the sum to every shard.
func (Reduction[T]) Backward(_ *op.Ctx, a *reduction.Backward[T], r op.Range) error {
	pieces(shards(1, a.Attrs.ReductionDegree), shape.Prod(a.Dims.N), r.Lo, r.Hi, func(k, from, _, n int) {
		vec.Put(a.GradShard[k].Span(from, from+n), a.GradOutput.Span(from, from+n))
	})
	return nil
}
