package kernels

import (
	"slices"

	"github.com/opgen/opgen/generated/repartition"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// Repartition is the kernel of repartition.
type Repartition[T dtype.Float] struct{}

// shards returns the extents of n equal shards.
func shards(extent, n int) []int { return slices.Repeat([]int{extent}, n) }

// Forward copies elements of the input to the shards.
func (Repartition[T]) Forward(_ *op.Ctx, a *repartition.Forward[T], r op.Range) error {
	n := a.Attrs.RepartitionDegree
	pieces(shards(a.Dims.R/n, n), shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Copy(a.Shard[k].Span(from, from+n), a.Input.Span(at, at+n))
	})
	return nil
}

// Backward copies the gradients of the shards to the gradient of the input, by elements.
func (Repartition[T]) Backward(_ *op.Ctx, a *repartition.Backward[T], r op.Range) error {
	n := a.Attrs.RepartitionDegree
	pieces(shards(a.Dims.R/n, n), shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Put(a.GradInput.Span(at, at+n), a.GradShard[k].Span(from, from+n))
	})
	return nil
}
