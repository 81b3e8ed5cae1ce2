package kernels

import (
	logical "github.com/opgen/opgen/generated/elementunarylogical"
	"github.com/opgen/opgen/kernels/internal/elements"
	"github.com/opgen/opgen/runtime/op"
)

// ElementUnaryLogical is the kernel of element_unary_logical.
type ElementUnaryLogical struct{}

// Forward negates elements.
func (ElementUnaryLogical) Forward(_ *op.Ctx, a *logical.Forward, r op.Range) error {
	elements.Map(a.Output, a.Input, r.Lo, r.Hi, func(x bool) bool { return !x })
	return nil
}
