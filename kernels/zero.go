package kernels

import (
	"github.com/opgen/opgen/generated/zero"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/vec"
)

// Zero is the kernel of zero.
type Zero[T dtype.Number] struct{}

// Forward sets elements.
func (Zero[T]) Forward(_ *task.Ctx, a *zero.Forward[T], r task.Range) error {
	vec.Fill(a.Tensor.Span(r.Lo, r.Hi), 0)
	return nil
}
