package kernels

import (
	"github.com/opgen/opgen/generated/zero"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Zero is the kernel of zero.
type Zero[T dtype.Number] struct{}

// Forward sets elements.
func (Zero[T]) Forward(_ *op.Ctx, a *zero.Forward[T], r op.Range) error {
	vec.Fill(a.Tensor.Span(r.Lo, r.Hi), 0)
	return nil
}
