package kernels

import (
	"github.com/opgen/opgen/generated/cache"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// Cache is the kernel of cache.
type Cache[T float32 | float64 | int32 | int64] struct{}

// ForwardElements compares elements with the cached ones, and caches them.
func (Cache[T]) ForwardElements(ctx *op.Ctx, a *cache.Forward[T], r op.Range) error {
	first := a.Iteration(ctx) % a.Attrs.NumBatches * shape.Prod(a.Dims.N)
	for i := r.Lo; i < r.Hi; i++ {
		live, old := a.Input.At(i), a.Stored.At(first+i)
		a.Same.Set(i, live == old)
		a.Stored.Set(first+i, live)
		if a.Attrs.LoadCached {
			live = old
		}
		a.Output.Set(i, live)
	}
	return nil
}

// ForwardScore computes the score.
func (Cache[T]) ForwardScore(_ *op.Ctx, a *cache.Forward[T], _ op.Range) error {
	score := a.Attrs.Gamma*a.Last.At(0) + 1 - a.Attrs.Gamma
	for i := range a.Same.Len() {
		if !a.Same.At(i) {
			score = a.Attrs.Gamma * a.Last.At(0)
			break
		}
	}
	a.Last.Set(0, score)
	a.Score.Set(0, score)
	return nil
}
