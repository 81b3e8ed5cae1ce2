package verify

import (
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// use is an access of a task.
type use struct{ task, access int32 }

// uses returns the accesses to each root that touch an element, in the order of tasks.
func (c checker) uses() [][]use {
	count, total := make([]int, len(c.Roots)), 0
	for t := range c.Tasks {
		for i := range c.Tasks[t].Access {
			count[c.Tasks[t].Access[i].Root]++
			total++
		}
	}
	all, out := make([]use, total), make([][]use, len(c.Roots))
	for r, n := range count {
		out[r], all = all[:0:n], all[n:]
	}
	var box region.Box
	for t := range c.Tasks {
		for i := range c.Tasks[t].Access {
			r := c.Tasks[t].Access[i].Root
			if c.box(t, i, &box); !box.Empty() {
				out[r] = append(out[r], use{int32(t), int32(i)})
			}
		}
	}
	return out
}

// box sets to to the elements that a task touches through access i: of a tile, what its footprint gives. The
// bounds of a footprint follow from its definition here, not from package region.
func (c checker) box(t, i int, to *region.Box) {
	task := &c.Tasks[t]
	a := &task.Access[i]
	to.Lo, to.Hi = append(to.Lo[:0], a.Lo...), append(to.Hi[:0], a.Hi...)
	if task.Tile == 0 || len(a.Footprint) == 0 {
		return
	}
	var first, last [op.MaxRank]int // the indices of the tile
	left := task.Tile - 1
	for d := len(task.Inner); d > 0; d-- {
		axis := &task.Inner[d-1]
		n := (axis.Over-1)/axis.Grain + 1
		first[d] = left % n * axis.Grain
		last[d] = min(first[d]+axis.Grain, axis.Over) - 1
		left /= n
	}
	first[0] = left * task.Grain
	last[0] = min(first[0]+task.Grain, task.Over) - 1
	for d, s := range a.Footprint {
		if s.Of > 0 {
			from, end := &first, &last // the indices of the outermost lower and upper bound
			if s.Scale < 0 {
				from = &last
			}
			if s.Scale+s.Grow < 0 {
				end = &first
			}
			to.Lo[d] = max(a.Lo[d], from[s.Of-1]*s.Scale+s.Shift)
			to.Hi[d] = min(a.Hi[d], end[s.Of-1]*(s.Scale+s.Grow)+s.Shift+s.Size)
		}
	}
}

// cells divides a root at all bounds of the boxes that tasks touch. Each box is made of whole cells, so that
// what is known of elements is the same all over a cell. One value serves all roots, one after the other.
type cells struct {
	cuts  [][]int // per axis, ascending
	count int
	at    []int
	end   []int
	first []int
	box   [2]region.Box
}

// Cells of a root may be this many times its accesses, and some more.
const (
	cellsPerUse = 64
	freeCells   = 1 << 16
)

// divide makes the cells of a root. More of them than accesses warrant are an error.
func (x *cells) divide(c checker, r region.Root, list []use) *plan.Error {
	shape := c.Roots[r].Shape
	rank := len(shape)
	x.cuts = slices.Grow(x.cuts[:0], rank)[:rank]
	for _, s := range []*[]int{&x.at, &x.end, &x.first} {
		*s = slices.Grow((*s)[:0], rank)[:rank]
	}
	for d, n := range shape {
		x.cuts[d] = append(x.cuts[d][:0], 0, n)
	}
	box, last := &x.box[0], &x.box[1]
	for i, u := range list {
		c.box(int(u.task), int(u.access), box)
		for d, n := range shape {
			if i == 0 || box.Lo[d] != last.Lo[d] || box.Hi[d] != last.Hi[d] { // neighbors often agree
				if box.Lo[d] > 0 || box.Hi[d] < n {
					x.cuts[d] = append(x.cuts[d], box.Lo[d], box.Hi[d])
				}
			}
		}
		box, last = last, box
	}
	x.count = 1
	for d := range rank {
		slices.Sort(x.cuts[d])
		x.cuts[d] = slices.Compact(x.cuts[d])
		n := max(len(x.cuts[d])-1, 1)
		if x.count > (cellsPerUse*len(list)+freeCells)/n {
			return c.RootErrorf(r, "want at most %d parts for each access, got more", cellsPerUse)
		}
		x.count *= n
	}
	return nil
}

// each calls visit with the cells of a box.
func (x *cells) each(b *region.Box, visit func(cell int)) {
	for d := range x.cuts {
		x.first[d], _ = slices.BinarySearch(x.cuts[d], b.Lo[d])
		x.end[d], _ = slices.BinarySearch(x.cuts[d], b.Hi[d])
	}
	copy(x.at, x.first)
	for {
		n := 0
		for d, k := range x.at {
			n = n*(len(x.cuts[d])-1) + k
		}
		visit(n)
		d := len(x.at) - 1
		for ; d >= 0; d-- {
			if x.at[d]++; x.at[d] < x.end[d] {
				break
			}
			x.at[d] = x.first[d]
		}
		if d < 0 {
			return
		}
	}
}

// where returns the box of a cell.
func (x *cells) where(cell int) region.Box {
	b := region.Box{Lo: make([]int, len(x.cuts)), Hi: make([]int, len(x.cuts))}
	for d := len(x.cuts) - 1; d >= 0; d-- {
		n := len(x.cuts[d]) - 1
		b.Lo[d], b.Hi[d] = x.cuts[d][cell%n], x.cuts[d][cell%n+1]
		cell /= n
	}
	return b
}
