package kernels

import (
	"example.com/cookbook/generated/sumshards"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// SumShards is the kernel of sum_shards.
type SumShards[T dtype.Float] struct{}

// Forward adds up elements r.Lo to r.Hi-1, always in the order of the tensors.
func (SumShards[T]) Forward(_ *op.Ctx, a *sumshards.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		var sum T
		for _, shard := range a.Shard {
			sum += shard.At(i)
		}
		a.Output.Set(i, sum)
	}
	return nil
}

// Backward gives all tensors the gradient of elements r.Lo to r.Hi-1.
func (SumShards[T]) Backward(_ *op.Ctx, a *sumshards.Backward[T], r op.Range) error {
	for _, grad := range a.GradShard {
		for i := r.Lo; i < r.Hi; i++ {
			grad.Put(i, a.GradOutput.At(i))
		}
	}
	return nil
}
