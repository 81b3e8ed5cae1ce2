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
	in, _ := fans(a.Dims.N)
	bound := math.Sqrt(6 / ((1 + a.Attrs.A*a.Attrs.A) * max(in, 1)))
	drawUniform(a.Tensor, r, a.Attrs.Seed, -bound, bound)
	return nil
}
