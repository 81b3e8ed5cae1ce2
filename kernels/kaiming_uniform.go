package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/kaiminguniform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// KaimingUniform is the kernel of kaiming_uniform.
type KaimingUniform[T dtype.Float] struct{}

// Forward draws elements.
func (KaimingUniform[T]) Forward(_ *task.Ctx, a *kaiminguniform.Forward[T], r task.Range) error {
	at := &a.Attrs
	bound := math.Sqrt(3) * kaimingDeviation(a.Dims.N, at.Mode, at.Nonlinearity, at.A)
	drawUniform(a.Tensor, r, at.Seed, -bound, bound)
	return nil
}
