package kernels

import (
	"github.com/opgen/opgen/generated/normal"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Normal is the kernel of normal.
type Normal[T dtype.Float] struct{}

// Forward draws elements.
func (Normal[T]) Forward(_ *op.Ctx, a *normal.Forward[T], r op.Range) error {
	drawNormal(a.Tensor, r, a.Attrs.Seed, a.Attrs.Mean, a.Attrs.Stddev)
	return nil
}
