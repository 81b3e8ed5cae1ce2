package index

import (
	"iter"
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// Groups divides the elements of a shape into groups. Elements of a group differ only along certain axes. Groups are numbered row-major over the other dimensions, and the elements of a group
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

// Offset returns the offset of the current element in tensor k. Inside a loop over All, k must not be 0,
// whose offset All gives.
func (g *Groups) Offset(k int) int { return g.outer.offsets[k] + g.inner.offsets[k] }

// Run is a number of elements of the first tensor that lie one step apart.
type Run struct{ From, Len, Step int }

// Runs goes through the elements of the current group in as few runs as they fall into. Meanwhile, Offset
// is that of the first element of the run.
func (g *Groups) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		last := len(g.inner.shape) - 1
		n, step := min(g.size, 1), 0
		if last >= 0 {
			n, step = g.inner.shape[last], g.inner.strides[0][last]
		}
		for done := 0; done < g.size; done += n {
			if !yield(Run{g.Offset(0), n, step}) {
				g.rewind()
				return
			}
			g.inner.step(last - 1)
		}
	}
}

// All goes through the elements of the current group: their numbers in the group, and their offsets in
// the first tensor.
func (g *Groups) All() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		w, p := g.inner, 0
		last := len(w.shape) - 1
		for run := range g.Runs() {
			for i := range run.Len {
				if !yield(p, run.From+i*run.Step) {
					g.rewind()
					return
				}
				p++
				for k := 1; k < len(w.offsets) && last >= 0; k++ {
					w.offsets[k] += w.strides[k][last]
				}
			}
			for k := 1; k < len(w.offsets) && last >= 0; k++ {
				w.offsets[k] -= run.Len * w.strides[k][last]
			}
		}
	}
}

// rewind goes to the first element of the group.
func (g *Groups) rewind() {
	clear(g.inner.at)
	clear(g.inner.offsets)
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
