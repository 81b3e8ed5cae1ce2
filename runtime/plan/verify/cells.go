package verify

import (
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// use is an access of a task.
type use struct{ task, access int32 }

// uses lists the accesses to each root that touch an element, in the order of tasks.
type uses struct {
	start []int // per root: where its accesses begin; there is one more for the end
	all   []use
}

// of returns the accesses to a root.
func (u *uses) of(r region.Root) []use { return u.all[u.start[r]:u.start[r+1]] }

// uses returns the accesses to each root.
func (c checker) uses() *uses {
	u := &uses{start: make([]int, len(c.Roots)+1)}
	var box region.Box
	each := func(visit func(r region.Root, x use)) {
		for t := range c.Tasks {
			for i := range c.Tasks[t].Access {
				if c.box(t, i, &box); !box.Empty() {
					visit(c.Tasks[t].Access[i].Root, use{int32(t), int32(i)})
				}
			}
		}
	}
	each(func(r region.Root, _ use) { u.start[r+1]++ })
	for r := range c.Roots {
		u.start[r+1] += u.start[r]
	}
	u.all = make([]use, u.start[len(c.Roots)])
	next := slices.Clone(u.start)
	each(func(r region.Root, x use) {
		u.all[next[r]] = x
		next[r]++
	})
	return u
}

// box sets to to the elements that a task touches through access i: of a tile, what its footprint gives. The bounds of
// a footprint follow from its definition here, not from package region.
func (c checker) box(t, i int, to *region.Box) {
	task := &c.Tasks[t]
	a := &task.Access[i]
	to.Lo, to.Hi = append(to.Lo[:0], a.Lo...), append(to.Hi[:0], a.Hi...)
	if task.Tile == 0 || len(a.Footprint) == 0 {
		return
	}
	var first, last [op.MaxRank]int // the indices of the tile
	left := task.Tile - 1
	for d := len(task.Inner); d >= 0; d-- {
		axis := op.Axis{Over: task.Over, Grain: task.Grain}
		if d > 0 {
			axis = task.Inner[d-1]
		}
		n := (axis.Over-1)/axis.Grain + 1
		first[d] = left % n * axis.Grain
		last[d] = min(first[d]+axis.Grain, axis.Over) - 1
		left /= n
	}
	for d, s := range a.Footprint {
		if s.Of > 0 {
			to.Lo[d] = max(a.Lo[d], first[s.Of-1]*s.Scale+s.Shift)
			to.Hi[d] = min(a.Hi[d], last[s.Of-1]*s.Scale+s.Shift+s.Size)
		}
	}
}

// cells divides a root at all bounds of the boxes that tasks touch. Each box is made of whole cells, so that what is
// known of elements is the same all over a cell.
type cells struct {
	cuts  [][]int // per axis, ascending
	count int
	at    []int
	end   []int
	first []int
}

// Cells of a root may be this many times its accesses, and some more.
const (
	cellsPerUse = 64
	freeCells   = 1 << 16
)

// cells returns the cells of a root. More of them than accesses warrant are an error.
func (c checker) cells(r region.Root, list []use) (*cells, *plan.Error) {
	rank := len(c.Roots[r].Shape)
	x := &cells{cuts: make([][]int, rank), count: 1, at: make([]int, rank), end: make([]int, rank), first: make([]int, rank)}
	var box region.Box
	for d := range rank {
		seen := map[int]bool{0: true, c.Roots[r].Shape[d]: true}
		for _, u := range list {
			c.box(int(u.task), int(u.access), &box)
			seen[box.Lo[d]], seen[box.Hi[d]] = true, true
		}
		for at := range seen {
			x.cuts[d] = append(x.cuts[d], at)
		}
		slices.Sort(x.cuts[d])
		n := max(len(x.cuts[d])-1, 1)
		if x.count > (cellsPerUse*len(list)+freeCells)/n {
			return nil, c.RootErrorf(r, "want at most %d parts for each access, got more", cellsPerUse)
		}
		x.count *= n
	}
	return x, nil
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
