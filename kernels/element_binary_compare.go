package kernels

import (
	compare "github.com/opgen/opgen/generated/elementbinarycompare"
	"github.com/opgen/opgen/kernels/internal/elements"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// ElementBinaryCompare is the kernel of element_binary_compare.
type ElementBinaryCompare[T dtype.Float | dtype.Index] struct{}

// Forward compares elements of the two sides.
func (ElementBinaryCompare[T]) Forward(_ *op.Ctx, a *compare.Forward[T], r op.Range) error {
	f := func(x, y T) bool { return x == y } // EW_EQUAL
	switch a.Attrs.Type {
	case compare.TypeEwGreater:
		f = func(x, y T) bool { return x > y }
	case compare.TypeEwLess:
		f = func(x, y T) bool { return x < y }
	}
	elements.Zip(a.Output, a.LhsInput, a.RhsInput, r.Lo, r.Hi, f)
	return nil
}
