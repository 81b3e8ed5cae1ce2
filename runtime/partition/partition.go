package partition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/region"
)

// Partition divides a tensor into parts. Like [FlexFlow]'s parallel tensor shape, it has a degree for each
// dimension, replicas and partial sums. Like a partition of [Legion], it may also be an arbitrary list of
// tiles.
//
// Parts are numbered in the order sum, replica, tile, the last fastest. The tiles of a grid are in row-major
// order.
//
// [FlexFlow]: https://flexflow.ai
// [Legion]: https://legion.stanford.edu
type Partition struct {
	// Extents is the shape of the whole tensor.
	Extents []int `json:"extents"`
	// Degrees is the number of tiles along each dimension. A tile has ceil(extent/degree) indices, and the
	// last one the remainder. Trailing tiles may be empty.
	Degrees []int `json:"degrees"`
	// Replicas is the number of copies of each tile; 0 means 1.
	Replicas int `json:"replicas,omitempty"`
	// Sums is the number of partial sums: tensors of this shape whose elementwise sum is the tensor. 0 means
	// 1.
	Sums int `json:"sums,omitempty"`
	// Tiles lists the tiles if they are no such grid. They may overlap, or omit elements.
	Tiles []Box `json:"tiles,omitempty"`
}

// Undivided returns the partition into one part.
func Undivided(extents []int) Partition {
	p := Partition{Extents: slices.Clone(extents), Degrees: make([]int, len(extents))}
	for d := range p.Degrees {
		p.Degrees[d] = 1
	}
	return p
}

// Check returns an error for negative extents or counts, and for tiles outside of the tensor.
func (p Partition) Check() error {
	if len(p.Degrees) != len(p.Extents) {
		return fmt.Errorf("partition %v: want a degree for each of %d dimensions, got %d", p, len(p.Extents), len(p.Degrees))
	}
	for d := range p.Extents {
		if p.Extents[d] < 0 || p.Degrees[d] < 1 {
			return fmt.Errorf("partition %v: want extents of 0 or more and degrees of 1 or more", p)
		}
	}
	if p.Replicas < 0 || p.Sums < 0 {
		return fmt.Errorf("partition %v: want replicas and sums of 0 or more", p)
	}
	for _, t := range p.Tiles {
		if len(t.Lo) != len(p.Extents) || len(t.Hi) != len(p.Extents) {
			return fmt.Errorf("partition %v: want tiles of %d dimensions, got %v", p, len(p.Extents), t)
		}
		for d := range t.Lo {
			if !t.Empty() && (t.Lo[d] < 0 || t.Hi[d] > p.Extents[d]) {
				return fmt.Errorf("partition %v: want tiles within the tensor, got %v", p, t)
			}
		}
	}
	return nil
}

// tiles returns the number of tiles.
func (p Partition) tiles() int {
	if p.Tiles != nil {
		return len(p.Tiles)
	}
	n := 1
	for _, d := range p.Degrees {
		n *= d
	}
	return n
}

// Parts returns the number of parts: tiles * replicas * sums.
func (p Partition) Parts() int { return p.tiles() * max(p.Replicas, 1) * max(p.Sums, 1) }

// Part returns the region of part i in the root of the tensor. Replicas and partial sums of a tile have the
// same region, each in a memory of its own.
func (p Partition) Part(root region.Root, i int) region.Region {
	i %= p.tiles()
	if p.Tiles != nil {
		return region.Region{Root: root, Box: region.Box{Lo: slices.Clone(p.Tiles[i].Lo), Hi: slices.Clone(p.Tiles[i].Hi)}}
	}
	r := region.Whole(root, p.Extents)
	for d := len(p.Extents) - 1; d >= 0; d-- {
		at := i % p.Degrees[d]
		i /= p.Degrees[d]
		tile := (p.Extents[d] + p.Degrees[d] - 1) / p.Degrees[d]
		r.Lo[d], r.Hi[d] = min(at*tile, p.Extents[d]), min((at+1)*tile, p.Extents[d])
	}
	return r
}

// Equal reports whether two partitions are the same.
func (p Partition) Equal(q Partition) bool {
	return slices.Equal(p.Extents, q.Extents) && slices.Equal(p.Degrees, q.Degrees) &&
		max(p.Replicas, 1) == max(q.Replicas, 1) && max(p.Sums, 1) == max(q.Sums, 1) && (p.Tiles == nil) == (q.Tiles == nil) &&
		slices.EqualFunc(p.Tiles, q.Tiles, func(a, b Box) bool { return slices.Equal(a.Lo, b.Lo) && slices.Equal(a.Hi, b.Hi) })
}

// String formats the partition as "[8/2, 3] x2 replicas x4 sums", for 2 tiles along the dimension of extent
// 8.
func (p Partition) String() string {
	var parts []string
	for d, n := range p.Extents {
		s := fmt.Sprint(n)
		if d < len(p.Degrees) && p.Degrees[d] != 1 {
			s += fmt.Sprintf("/%d", p.Degrees[d])
		}
		parts = append(parts, s)
	}
	s := "[" + strings.Join(parts, ", ") + "]"
	if p.Tiles != nil {
		s += fmt.Sprintf(" in %d tiles", len(p.Tiles))
	}
	if p.Replicas > 1 {
		s += fmt.Sprintf(" x%d replicas", p.Replicas)
	}
	if p.Sums > 1 {
		s += fmt.Sprintf(" x%d sums", p.Sums)
	}
	return s
}
