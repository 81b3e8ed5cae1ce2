package kernels

import (
	join "github.com/opgen/opgen/generated/combine"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// Combine is the kernel of combine.
type Combine[T dtype.Float] struct{}

// Forward copies elements of the output from the shards.
func (Combine[T]) Forward(_ *op.Ctx, a *join.Forward[T], r op.Range) error {
	pieces(shards(a.Dims.R, a.Attrs.CombineDegree), shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Copy(a.Output.Span(at, at+n), a.Shard[k].Span(from, from+n))
	})
	return nil
}

// Backward copies the gradient of the output to the gradients of the shards, by elements.
func (Combine[T]) Backward(_ *op.Ctx, a *join.Backward[T], r op.Range) error {
	pieces(shards(a.Dims.R, a.Attrs.CombineDegree), shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Put(a.GradShard[k].Span(from, from+n), a.GradOutput.Span(at, at+n))
	})
	return nil
}
