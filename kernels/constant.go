package kernels

import (
	"github.com/opgen/opgen/generated/constant"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Constant is the kernel of constant.
type Constant[T dtype.Float] struct{}

// Forward sets elements.
func (Constant[T]) Forward(_ *op.Ctx, a *constant.Forward[T], r op.Range) error {
	vec.Fill(a.Tensor.Span(r.Lo, r.Hi), T(a.Attrs.Value))
	return nil
}
