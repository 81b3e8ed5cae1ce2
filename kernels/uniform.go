package kernels

import (
	"github.com/opgen/opgen/generated/uniform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Uniform is the kernel of uniform.
type Uniform[T dtype.Float] struct{}

// Forward draws elements.
func (Uniform[T]) Forward(_ *op.Ctx, a *uniform.Forward[T], r op.Range) error {
	drawUniform(a.Tensor, r, a.Attrs.Seed, a.Attrs.Min, a.Attrs.Max)
	return nil
}
