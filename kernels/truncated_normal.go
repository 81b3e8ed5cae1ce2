package kernels

import (
	"fmt"

	"github.com/opgen/opgen/generated/truncatednormal"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/rng"
)

// TruncatedNormal is the kernel of truncated_normal.
type TruncatedNormal[T dtype.Float] struct{}

// Forward draws elements.
func (TruncatedNormal[T]) Forward(_ *op.Ctx, a *truncatednormal.Forward[T], r op.Range) error {
	at := &a.Attrs
	if left := rng.NormalMass(a.Lo, a.Hi); left < 1e-10 {
		return fmt.Errorf("slot tensor: want cutoffs that leave a part of the distribution, got %g to %g, where mean %g and standard deviation %g leave %.3g", at.MinCutoff, at.MaxCutoff, at.Mean, at.Stddev, left)
	}
	draw(a.Tensor, r, at.Seed.Or(a.GraphSeed), func(s rng.Source, i uint64) float64 {
		return min(max(at.Mean+float64(at.Stddev*s.NormalBetween(i, a.Lo, a.Hi)), at.MinCutoff), at.MaxCutoff)
	})
	return nil
}
