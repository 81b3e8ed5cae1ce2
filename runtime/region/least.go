package region

import (
	"slices"

	"github.com/opgen/opgen/runtime/op"
)

// Least returns the least extents of the boxes of a root that tiles of a task may touch: extents demands a
// number on each axis, and axes that whole marks are not cut. It returns nil if nothing is demanded. With a
// footprint, an axis that no dimension of the task's domain moves is never cut.
func (f Footprint) Least(extents []int, whole []bool, shape []int) []int {
	var least []int
	for d, n := range shape {
		want := min(extents[d], n)
		if whole != nil && whole[d] && (len(f) == 0 || f[d].Of > 0) {
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
// of the given shape with fewer indices on an axis than least says. It also returns the next extent of tiles
// that may be enough. The dimension is -1 if there is none.
//
// Without a footprint, the indices of a domain stand for the leading axes of the root: those of one dimension
// for as many axes as have the same product, those of several for an axis each. If there are no such axes,
// each tile may touch all of the root, and only one tile certainly touches enough of an axis that is not
// demanded as a whole.
func (f Footprint) Cut(g *op.Grid, shape, least []int) (dim, grain int) {
	if least == nil || g.Tiles() <= 1 {
		return -1, 0
	}
	if len(f) == 0 {
		return cutLeading(g, shape, least)
	}
	for d, s := range f {
		if s.Of > 0 && !s.reaches(g.Dim(s.Of-1), shape[d], least[d]) {
			return s.Of - 1, g.Dim(s.Of-1).Grain + 1
		}
	}
	return -1, 0
}

// cutLeading is Cut for a grid whose indices stand for the leading axes of a root.
func cutLeading(g *op.Grid, shape, least []int) (dim, grain int) {
	if g.Rank() == 1 {
		if k, ok := leading(g.Axis, shape); ok {
			if grain := rows(g.Axis, shape[:k], least[:k]); grain > g.Grain {
				return 0, grain
			}
			return -1, 0
		}
	} else if axisByAxis(g, shape) {
		for d := range g.Rank() {
			if a := g.Dim(d); a.Grain < a.Over && min(a.Grain, (a.Over-1)%a.Grain+1) < least[d] {
				return d, max(a.Grain+1, least[d])
			}
		}
		return -1, 0
	}
	for d, n := range least {
		if n > 1 && n < shape[d] {
			for e := range g.Rank() {
				if a := g.Dim(e); a.Grain < a.Over {
					return e, a.Over
				}
			}
		}
	}
	return -1, 0
}

// axisByAxis reports whether each dimension of a grid has the extent of an axis of the root.
func axisByAxis(g *op.Grid, shape []int) bool {
	for d := range g.Rank() {
		if d >= len(shape) || g.Dim(d).Over != shape[d] {
			return false
		}
	}
	return true
}

// leading returns how many leading axes of a root have as many elements as a domain has indices.
func leading(a op.Axis, shape []int) (axes int, ok bool) {
	lead := 1
	for axes < len(shape) && lead < a.Over {
		lead *= shape[axes]
		axes++
	}
	return axes, lead == a.Over
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

// rows returns the extent of tiles of a domain of one dimension, which stands for the axes of a shape, if
// these tiles are boxes of at least some extents. Otherwise it returns a greater extent that may be enough.
func rows(a op.Axis, shape, least []int) int {
	first := slices.IndexFunc(least, func(n int) bool { return n > 1 })
	if first < 0 {
		return a.Grain
	}
	inner, outer := 1, 1
	for d, n := range shape {
		switch {
		case d < first:
			outer *= n
		case d > first:
			inner *= n
		}
	}
	if a.Grain%inner != 0 {
		return (a.Grain/inner + 1) * inner
	}
	n := a.Grain / inner // indices of the axis in a tile
	rest := (shape[first]-1)%max(n, 1) + 1
	switch {
	case n < least[first]:
		return least[first] * inner
	case outer == 1 && rest >= least[first], outer > 1 && (shape[first]%n == 0 || n%shape[first] == 0):
		return a.Grain
	}
	return (n + 1) * inner
}
