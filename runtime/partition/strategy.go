package partition

import (
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// Strategy is the solution of a launch: the partition of each of its stores.
type Strategy struct {
	// Domain is the shape of the launch. nil means a single task, whose arguments are whole.
	Domain []int
	// Stores lists the distinct stores in order of declaration.
	Stores []StorePartition

	// args maps each argument, in order of declaration, to its index in Stores.
	args []int
}

// StorePartition is the partition of a store among the leaves of a launch, which are in row-major order.
type StorePartition struct {
	Store *Store
	// Partition is a grid of tiles if the tiles form one, and otherwise a list. A store that every leaf
	// reads whole has replicas, and a store into which every leaf reduces has partial sums. The tiles of an
	// exact image are the bounding boxes of its points. An unbound store has the zero Partition.
	Partition
	// Tile is the size of a tile before clipping; nil for a whole store or an image.
	Tile []int
	// PartOf maps leaves to parts, if several leaves share a part. Otherwise leaf i has part i.
	PartOf []int
	// Points lists the points of each leaf in an exact image, sorted.
	Points [][][]int
}

// Whole reports whether every leaf gets the whole store.
func (p *StorePartition) Whole() bool {
	return !p.Store.Unbound && p.Points == nil && p.Tiles == nil && p.tiles() == 1
}

// Leaves returns the number of the launch's leaves: 1 for a single task.
func (s *Strategy) Leaves() int { return shape.Prod(s.Domain) }

// Argument returns the partition of argument i. Arguments are numbered in order of declaration: inputs,
// outputs, reductions.
func (s *Strategy) Argument(i int) *StorePartition { return &s.Stores[s.args[i]] }

// newStrategy returns the strategy with the given tilings. Stores without tiles are whole.
func newStrategy(domain []int, args []argument, tilings map[*Store]tiling) *Strategy {
	s := &Strategy{Domain: domain, args: make([]int, len(args))}
	at := map[*Store]int{}
	reduced := map[*Store]bool{}
	for i, a := range args {
		if _, ok := at[a.store]; !ok {
			at[a.store] = len(s.Stores)
			s.Stores = append(s.Stores, StorePartition{Store: a.store})
		}
		s.args[i] = at[a.store]
		reduced[a.store] = reduced[a.store] || a.group == Redops
	}
	for i := range s.Stores {
		p := &s.Stores[i]
		if x := p.Store; !x.Unbound {
			t := tilings[x]
			p.Tile, p.Points = t.tile, t.points
			p.Partition = t.partition(x.Shape, s.Leaves(), reduced[x])
		}
	}
	return s
}

// partition converts the tiling of a store to a partition among leaves.
func (t *tiling) partition(extents []int, leaves int, reduced bool) Partition {
	p := Undivided(extents)
	switch {
	case t.tiles == nil && t.points == nil && reduced:
		p.Sums = leaves
		return p
	case t.tiles == nil && t.points == nil:
		p.Replicas = leaves
		return p
	}
	p.Tiles = t.tiles
	for _, points := range t.points {
		var boxes []Box
		for _, at := range points {
			b := Box{Lo: at, Hi: slices.Clone(at)}
			for i := range b.Hi {
				b.Hi[i]++
			}
			boxes = append(boxes, b)
		}
		p.Tiles = append(p.Tiles, around(boxes, len(extents)))
	}
	if grid, ok := p.grid(t.tile); ok {
		return grid
	}
	return p
}

// grid converts a list of tiles to a grid, if they form one; tile is their size before clipping.
func (p Partition) grid(tile []int) (Partition, bool) {
	g := Undivided(p.Extents)
	if len(tile) != len(p.Extents) || len(p.Tiles) == 0 {
		return g, false
	}
	last := p.Tiles[len(p.Tiles)-1]
	for d := range p.Extents {
		// The last tile may be empty, but its lower bound is on the grid.
		if tile[d] > 0 {
			g.Degrees[d] = max(shape.CeilDiv(last.Lo[d], tile[d])+1, 1)
		}
	}
	if g.Parts() != len(p.Tiles) {
		return g, false
	}
	for i, t := range p.Tiles {
		r := g.Part(0, i)
		if b := (Box{Lo: r.Lo, Hi: r.Hi}); t.Empty() != b.Empty() || !t.Empty() && (!slices.Equal(t.Lo, b.Lo) || !slices.Equal(t.Hi, b.Hi)) {
			return g, false
		}
	}
	return g, true
}
