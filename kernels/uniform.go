package kernels

import (
	"github.com/opgen/opgen/generated/uniform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Uniform is the kernel of uniform.
type Uniform[T dtype.Float] struct{}

// Forward draws elements.
func (Uniform[T]) Forward(_ *task.Ctx, a *uniform.Forward[T], r task.Range) error {
	drawUniform(a.Tensor, r, a.Attrs.Seed, a.Attrs.Min, a.Attrs.Max)
	return nil
}
