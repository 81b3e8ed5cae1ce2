package kernels

import (
	logical "github.com/opgen/opgen/generated/elementbinarylogical"
	"github.com/opgen/opgen/kernels/internal/elements"
	"github.com/opgen/opgen/runtime/op"
)

// ElementBinaryLogical is the kernel of element_binary_logical.
type ElementBinaryLogical struct{}

// Forward combines elements of the two sides.
func (ElementBinaryLogical) Forward(_ *op.Ctx, a *logical.Forward, r op.Range) error {
	f := func(x, y bool) bool { return x != y } // EW_LOGICAL_XOR
	switch a.Attrs.Type {
	case logical.TypeEwLogicalAnd:
		f = func(x, y bool) bool { return x && y }
	case logical.TypeEwLogicalOr:
		f = func(x, y bool) bool { return x || y }
	}
	elements.Zip(a.Output, a.LhsInput, a.RhsInput, r.Lo, r.Hi, f)
	return nil
}
