package region

import (
	"fmt"

	"github.com/opgen/opgen/runtime/op"
)

// Span says which indices along one axis of a root an index of a task's domain touches. Index i of dimension
// Of touches the Size indices from Scale*i+Shift on. Whole stands for an axis all of which every index
// touches.
type Span struct {
	Of    int `json:"of,omitempty"` // dimension of the domain, counted from 1; 0 for the whole axis
	Scale int `json:"scale,omitempty"`
	Shift int `json:"shift,omitempty"`
	Size  int `json:"size,omitempty"`
}

// Along returns the span of an axis that moves with a dimension of the domain, which is counted from 0 here:
// index i touches size indices from scale*i+shift on.
func Along(dim, scale, shift, size int) Span { return Span{dim + 1, scale, shift, size} }

// Footprint is an affine map from the domain of a task to boxes of a root, with a span for each axis. It says
// which elements an index touches, and so which a tile touches. Without spans it is the whole access.
type Footprint []Span

// Check returns an error unless the footprint fits a domain and a root of the given ranks. Scales and sizes
// are positive.
func (f Footprint) Check(domain, root int) error {
	if len(f) == 0 {
		return nil
	}
	if len(f) != root {
		return fmt.Errorf("want a span for each of %d axes, got %d", root, len(f))
	}
	for d, s := range f {
		if s.Of < 0 || s.Of > domain || s.Of > 0 && (s.Scale < 1 || s.Size < 1) {
			return fmt.Errorf("want a span of one of %d dimensions with a positive scale and size, got %+v on axis %d", domain, s, d)
		}
	}
	return nil
}

// Disjoint reports whether no two indices of the domain touch the same element, and so no two tiles do. Every
// dimension of more indices than one must move an axis by at least the size of its span.
func (f Footprint) Disjoint(g *op.Grid) bool {
	for d := range g.Rank() {
		apart := g.Dim(d).Over <= 1
		for _, s := range f {
			apart = apart || s.Of == d+1 && s.Size <= s.Scale
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
		lo, hi := r.Dim(s.Of - 1)
		box.Lo[d] = max(box.Lo[d], s.Scale*lo+s.Shift)
		box.Hi[d] = min(box.Hi[d], s.Scale*(hi-1)+s.Shift+s.Size)
	}
}
