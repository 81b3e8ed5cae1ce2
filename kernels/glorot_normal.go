package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/glorotnormal"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// GlorotNormal is the kernel of glorot_normal.
type GlorotNormal[T dtype.Float] struct{}

// Forward draws elements.
func (GlorotNormal[T]) Forward(_ *op.Ctx, a *glorotnormal.Forward[T], r op.Range) error {
	in, out := fans(a.Dims.N)
	drawNormal(a.Tensor, r, a.Attrs.Seed, 0, math.Sqrt(2/max(in+out, 1)))
	return nil
}
