package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/kaiminguniform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// KaimingUniform is the kernel of kaiming_uniform.
type KaimingUniform[T dtype.Float] struct{}

// Forward draws elements.
func (KaimingUniform[T]) Forward(_ *op.Ctx, a *kaiminguniform.Forward[T], r op.Range) error {
	at := &a.Attrs
	bound := math.Sqrt(3) * kaimingDeviation(a.Dims.N, at.Mode, at.Nonlinearity, at.A)
	drawUniform(a.Tensor, r, at.Seed, -bound, bound)
	return nil
}
