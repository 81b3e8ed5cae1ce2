package index

import (
	"iter"
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// Groups divides the elements of a shape into groups: elements that differ only along certain axes are
// together. Groups are numbered row-major over the other dimensions, and the elements of a group
// row-major over the axes.
type Groups struct {
	outer, inner *Walk
	size         int
}

// NewGroups returns the groups of dims along axes, standing at group number start. Tensors are
// addressed by strides as in New; if there are none, offsets are those of one row-major tensor.
func NewGroups(dims, axes []int, start int, strides ...[]int) *Groups {
	if len(strides) == 0 {
		strides = [][]int{shape.Strides(dims)}
	}
	outer, inner := slices.Clone(dims), slices.Clone(dims)
	for d := range dims {
		if slices.Contains(axes, d) {
			outer[d] = 1
		} else {
			inner[d] = 1
		}
	}
	return &Groups{New(outer, start, strides...), New(inner, 0, strides...), shape.Prod(inner)}
}

// Size returns the number of elements of each group.
func (g *Groups) Size() int { return g.size }

// Offset returns the offset of the current element in tensor k.
func (g *Groups) Offset(k int) int { return g.outer.offsets[k] + g.inner.offsets[k] }

// All goes through the elements of the current group: their numbers in the group, and their offsets in
// the first tensor.
func (g *Groups) All() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for p := range g.size {
			if !yield(p, g.Offset(0)) {
				clear(g.inner.at)
				clear(g.inner.offsets)
				return
			}
			g.inner.Next()
		}
	}
}

// Next goes to the next group; after the last one, to the first.
func (g *Groups) Next() { g.outer.Next() }

// Others returns the dimensions of a shape of the given rank that are not among axes.
func Others(axes []int, rank int) []int {
	var out []int
	for d := range rank {
		if !slices.Contains(axes, d) {
			out = append(out, d)
		}
	}
	return out
}
