package region

import (
	"slices"

	"github.com/opgen/opgen/runtime/op"
)

// Least returns the least extents of the boxes of a root that tiles of a task may touch: extents demands a
// number on each axis, and axes that whole marks are not cut. It returns nil if nothing is demanded. An axis
// that no dimension of the task's domain moves is never cut.
func (f Footprint) Least(extents []int, whole []bool, shape []int) []int {
	var least []int
	for d, n := range shape {
		want := min(extents[d], n)
		if whole[d] && d < len(f) && f[d].Of > 0 {
			want = n
		}
		if want > 1 {
			if least == nil {
				least = make([]int, len(shape))
			}
			least[d] = want
		}
	}
	return least
}

// Cut returns the first dimension of a grid along which its tiles are too small: they touch boxes of a root
// of the given shape with fewer indices on an axis than least says. It returns -1 if there is none.
//
// Without a footprint, the indices of a domain of one dimension stand for the leading axes of the root, as
// far as their extents have the same product. If there are no such axes, only one tile touches enough.
func (f Footprint) Cut(g *op.Grid, shape, least []int) int {
	if least == nil || g.Tiles() <= 1 {
		return -1
	}
	if len(f) == 0 {
		for d := range g.Rank() {
			if a := g.Dim(d); a.Grain < a.Over && !(g.Rank() == 1 && rows(a, shape, least)) {
				return d
			}
		}
		return -1
	}
	for d, s := range f {
		if s.Of > 0 && !s.reaches(g.Dim(s.Of-1), shape[d], least[d]) {
			return s.Of - 1
		}
	}
	return -1
}

// reaches reports whether each tile of an axis of a grid touches at least so many indices along an axis of a
// root. Between the first tiles and the last ones, their number is the least of affine functions, which is
// smallest at an end.
func (s Span) reaches(a op.Axis, extent, least int) bool {
	if a.Grain >= a.Over {
		return true
	}
	last := (a.Over - 1) / a.Grain
	for _, k := range []int{0, 1, last - 1, last} {
		lo := max(k, 0) * a.Grain
		hi := min(lo+a.Grain, a.Over)
		if from, to := s.ends(lo, hi-1); min(extent, to)-max(0, from) < least {
			return false
		}
	}
	return true
}

// rows reports whether tiles of a domain of one dimension, which stands for the leading axes of a root, are
// boxes of at least some extents.
func rows(a op.Axis, shape, least []int) bool {
	lead, k := 1, 0 // the indices of the domain stand for axes below k
	for k < len(shape) && lead < a.Over {
		lead *= shape[k]
		k++
	}
	if lead != a.Over {
		return false
	}
	first := slices.IndexFunc(least[:k], func(n int) bool { return n > 1 })
	if first < 0 {
		return true
	}
	inner, outer := 1, 1
	for d, n := range shape[:k] {
		switch {
		case d < first:
			outer *= n
		case d > first:
			inner *= n
		}
	}
	if a.Grain%inner != 0 {
		return false
	}
	n := a.Grain / inner // indices of the axis in a tile
	rest := (shape[first]-1)%max(n, 1) + 1
	switch {
	case n < least[first]:
		return false
	case outer == 1:
		return rest >= least[first]
	}
	return shape[first]%n == 0 || n%shape[first] == 0
}
