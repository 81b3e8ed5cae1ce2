package region

import (
	"fmt"

	"github.com/opgen/opgen/runtime/op"
)

// Span says which indices along one axis of a root an index of a task's domain touches, by two affine ends.
// Index i of dimension Of touches the indices from Scale*i + Shift up to, and without,
// (Scale+Grow)*i + Shift + Size. Without Grow, there are Size of them for each index, as in a window. With a
// scale of 0 and a Grow of 1, index i touches all that lie before it, too, as under a causal mask. A scale
// below 0 runs the axis backwards. With neither, the indices are the same for all i.
//
// The zero value stands for an axis all of which every index touches.
type Span struct {
	Of    int `json:"of,omitempty"` // dimension of the domain, counted from 1; 0 for the whole axis
	Scale int `json:"scale,omitempty"`
	Shift int `json:"shift,omitempty"`
	Size  int `json:"size,omitempty"`
	Grow  int `json:"grow,omitempty"` // how much larger the scale of the upper end is
}

// Along returns the span of an axis that moves with a dimension of the domain, which is counted from 0 here:
// index i touches size indices from scale*i+shift on.
func Along(dim, scale, shift, size int) Span {
	return Span{Of: dim + 1, Scale: scale, Shift: shift, Size: size}
}

// Between returns the span of an axis whose ends move apart with a dimension of the domain, which is counted
// from 0: index i touches the indices from lo[0]*i+lo[1] up to, and without, hi[0]*i+hi[1].
func Between(dim int, lo, hi [2]int) Span {
	return Span{Of: dim + 1, Scale: lo[0], Shift: lo[1], Size: hi[1] - lo[1], Grow: hi[0] - lo[0]}
}

// ends returns the bounds of what the indices from first to last touch. Each end is the outermost of those of
// the first and of the last index, since it is affine.
func (s Span) ends(first, last int) (lo, hi int) {
	upper := s.Scale + s.Grow
	lo = min(s.Scale*first, s.Scale*last) + s.Shift
	return lo, max(upper*first, upper*last) + s.Shift + s.Size
}

// apart reports whether no two indices below n touch the same element, nor do the bounds of two ranges of
// them. Both ends must move the same way. Of two neighbors, the one that comes first on the axis must end
// before the other begins. That is affine in the index, so the first pair and the last one decide.
func (s Span) apart(n int) bool {
	upper := s.Scale + s.Grow
	for _, i := range []int{0, n - 2} { // pairs of i and i+1
		switch {
		case s.Scale > 0 && upper > 0 && upper*i+s.Size <= s.Scale*(i+1):
		case s.Scale < 0 && upper < 0 && upper*(i+1)+s.Size <= s.Scale*i:
		default:
			return false
		}
	}
	return true
}

// Footprint is an affine map from the domain of a task to boxes of a root, with a span for each axis. It says
// which elements an index touches, and so which a tile touches. Without spans it is the whole access.
type Footprint []Span

// Check returns an error unless the footprint fits a domain and a root of the given ranks. A span of a fixed
// size has a positive one.
func (f Footprint) Check(domain, root int) error {
	if len(f) == 0 {
		return nil
	}
	if len(f) != root {
		return fmt.Errorf("want a span for each of %d axes, got %d", root, len(f))
	}
	for d, s := range f {
		if s.Of < 0 || s.Of > domain || s.Of > 0 && s.Grow == 0 && s.Size < 1 {
			return fmt.Errorf("want a span of one of %d dimensions with a positive size, got %+v on axis %d", domain, s, d)
		}
	}
	return nil
}

// Disjoint reports whether no two indices of the domain touch the same element, and so no two tiles do. Every
// dimension of more indices than one must move an axis by at least what an index touches of it.
func (f Footprint) Disjoint(g *op.Grid) bool {
	for d := range g.Rank() {
		apart := g.Dim(d).Over <= 1
		for _, s := range f {
			apart = apart || s.Of == d+1 && s.apart(g.Dim(d).Over)
		}
		if !apart {
			return false
		}
	}
	return true
}

// On sets box to what an access touches over a range of its task's domain: the spans of the range, within the
// region of the access. It reuses the memory of box.
func (a *Access) On(r op.Range, box *Box) {
	box.Lo, box.Hi = append(box.Lo[:0], a.Lo...), append(box.Hi[:0], a.Hi...)
	for d, s := range a.Footprint {
		if s.Of == 0 {
			continue
		}
		first, end := r.Dim(s.Of - 1)
		lo, hi := s.ends(first, end-1)
		box.Lo[d], box.Hi[d] = max(box.Lo[d], lo), min(box.Hi[d], hi)
	}
}
