package partition

import (
	"slices"

	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// image divides a target by what the elements of the source's tiles point to.
//
// Of a source whose values nobody told, every leaf gets all of the target.
func image(c *class, x, source *Store, from Division) Division {
	if source.Values == nil && shape.Prod(source.Shape) > 0 {
		return Division{Whole: true}
	}
	var d Division
	for leaf := range max(len(from.Tiles), len(from.Points)) {
		var hits []Box
		for _, i := range from.elements(leaf, source.Shape) {
			if i < len(source.Values) && !source.Values[i].Empty() {
				hits = append(hits, source.Values[i])
			}
		}
		switch c.target.c.Hint {
		case NoHint:
			for k := range hits {
				hits[k] = widen(hits[k].Clip(x.Shape), c.broadcast, x.Shape)
			}
			d.Points = append(d.Points, points(hits))
			continue
		case FirstLast:
			if len(hits) > 2 {
				hits = []Box{hits[0], hits[len(hits)-1]}
			}
		}
		box := around(hits, len(x.Shape)).Clip(x.Shape)
		d.Tiles = append(d.Tiles, widen(box, c.broadcast, x.Shape))
	}
	return d
}

// elements returns the row-major numbers of the elements that a leaf sees.
func (d *Division) elements(leaf int, extents []int) []int {
	if d.Points == nil {
		return elements(d.Tiles[leaf], extents)
	}
	var out []int
	strides := shape.Strides(extents)
	for _, p := range d.Points[leaf] {
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

// widen makes a box that is not empty whole along some axes.
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

// points returns the points of boxes, sorted, each once.
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

// around returns the smallest box that holds all boxes; of none, an empty one.
func around(boxes []Box, rank int) region.Box {
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
