package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/glorotuniform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// GlorotUniform is the kernel of glorot_uniform.
type GlorotUniform[T dtype.Float] struct{}

// Forward draws elements.
func (GlorotUniform[T]) Forward(_ *op.Ctx, a *glorotuniform.Forward[T], r op.Range) error {
	in, out := fans(a.Dims.N)
	bound := math.Sqrt(6 / max(in+out, 1))
	drawUniform(a.Tensor, r, a.Attrs.Seed, -bound, bound)
	return nil
}
