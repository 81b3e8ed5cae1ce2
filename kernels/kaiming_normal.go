package kernels

import (
	"github.com/opgen/opgen/generated/kaimingnormal"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// KaimingNormal is the kernel of kaiming_normal.
type KaimingNormal[T dtype.Float] struct{}

// Forward draws elements.
func (KaimingNormal[T]) Forward(_ *op.Ctx, a *kaimingnormal.Forward[T], r op.Range) error {
	at := &a.Attrs
	drawNormal(a.Tensor, r, at.Seed, 0, kaimingDeviation(a.Dims.N, at.Mode, at.Nonlinearity, at.A))
	return nil
}
