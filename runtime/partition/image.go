package partition

import (
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// image computes the tiles of a target as the images of the source's tiles: what their elements point to. If
// the source's values are unknown, every leaf gets the whole target.
func image(cl *class, target, source *Store, from tiling) tiling {
	var to tiling
	if source.Values == nil && shape.Prod(source.Shape) > 0 {
		return to
	}
	for leaf := range max(len(from.tiles), len(from.points)) {
		var hits []Box
		for _, i := range from.elements(leaf, source.Shape) {
			if i < len(source.Values) && !source.Values[i].Empty() {
				hits = append(hits, source.Values[i])
			}
		}
		switch cl.target.c.Hint {
		case NoHint:
			for k := range hits {
				hits[k] = widen(hits[k].Clip(target.Shape), cl.broadcast, target.Shape)
			}
			to.points = append(to.points, points(hits))
			continue
		case FirstLast:
			if len(hits) > 2 {
				hits = []Box{hits[0], hits[len(hits)-1]}
			}
		}
		box := around(hits, len(target.Shape)).Clip(target.Shape)
		to.tiles = append(to.tiles, widen(box, cl.broadcast, target.Shape))
	}
	return to
}

// elements returns the row-major numbers of the source elements of a leaf.
func (t *tiling) elements(leaf int, extents []int) []int {
	if t.points == nil {
		return elements(t.tiles[leaf], extents)
	}
	var out []int
	strides := shape.Strides(extents)
	for _, p := range t.points[leaf] {
		n := 0
		for axis, i := range p {
			n += i * strides[axis]
		}
		out = append(out, n)
	}
	return out
}

// elements returns the row-major numbers of the elements of a box.
func elements(b Box, extents []int) []int {
	if b.Empty() {
		return nil
	}
	strides := shape.Strides(extents)
	out := []int{0}
	for d := range extents {
		var next []int
		for _, o := range out {
			for i := b.Lo[d]; i < b.Hi[d]; i++ {
				next = append(next, o+i*strides[d])
			}
		}
		out = next
	}
	return out
}

// widen extends a box, unless it is empty, to the full extent of some axes.
func widen(b Box, axes []bool, extents []int) Box {
	if b.Empty() {
		return b
	}
	for d, whole := range axes {
		if whole {
			b.Lo[d], b.Hi[d] = 0, extents[d]
		}
	}
	return b
}

// points returns the union of the points of boxes, sorted.
func points(boxes []Box) [][]int {
	out := [][]int{}
	for _, b := range boxes {
		some := [][]int{{}}
		for d := range b.Lo {
			var next [][]int
			for _, p := range some {
				for i := b.Lo[d]; i < b.Hi[d]; i++ {
					next = append(next, append(slices.Clone(p), i))
				}
			}
			some = next
		}
		out = append(out, some...)
	}
	slices.SortFunc(out, slices.Compare)
	return slices.CompactFunc(out, func(a, b []int) bool { return slices.Equal(a, b) })
}

// around returns the bounding box of boxes; an empty box if there are none.
func around(boxes []Box, rank int) Box {
	if len(boxes) == 0 {
		return Box{Lo: make([]int, rank), Hi: make([]int, rank)}
	}
	out := Box{Lo: slices.Clone(boxes[0].Lo), Hi: slices.Clone(boxes[0].Hi)}
	for _, b := range boxes[1:] {
		for d := range b.Lo {
			out.Lo[d], out.Hi[d] = min(out.Lo[d], b.Lo[d]), max(out.Hi[d], b.Hi[d])
		}
	}
	return out
}
