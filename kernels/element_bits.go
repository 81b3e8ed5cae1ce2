package kernels

import (
	"github.com/opgen/opgen/generated/elementbits"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// ElementBits is the kernel of element_bits.
type ElementBits[T dtype.Integer] struct{}

// Forward combines the elements in row-major order.
func (ElementBits[T]) Forward(_ *op.Ctx, a *elementbits.Forward[T], _ op.Range) error {
	left, right := repeated(a.Left, len(a.Extents)), repeated(a.Right, len(a.Extents))
	f := bitsOf[T](a.Attrs.Type)
	index := make([]int, len(a.Extents))
	l, r := 0, 0
	for i := range a.Output.Len() {
		a.Output.Set(i, f(a.LhsInput.At(l), a.RhsInput.At(r)))
		for d := len(index) - 1; d >= 0; d-- {
			index[d]++
			l, r = l+left[d], r+right[d]
			if index[d] < a.Extents[d] {
				break
			}
			l, r = l-index[d]*left[d], r-index[d]*right[d]
			index[d] = 0
		}
	}
	return nil
}

// repeated returns how far neighbors in a tensor that is repeated to a rank stand apart along each dimension.
func repeated(extents []int, rank int) []int {
	out := make([]int, rank)
	for d := range extents {
		if extents[d] != 1 {
			out[rank-len(extents)+d] = shape.Prod(extents[d+1:])
		}
	}
	return out
}

func bitsOf[T dtype.Integer](t elementbits.Type) func(x, y T) T {
	switch t {
	case elementbits.TypeAnd:
		return func(x, y T) T { return x & y }
	case elementbits.TypeOr:
		return func(x, y T) T { return x | y }
	case elementbits.TypeXor:
		return func(x, y T) T { return x ^ y }
	case elementbits.TypeLeft:
		return func(x, y T) T { return x << uint64(y) }
	}
	return func(x, y T) T { return x >> uint64(y) }
}
