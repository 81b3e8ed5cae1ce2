package partition

import (
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// Strategy is the result of a launch: how each of its stores is partitioned.
type Strategy struct {
	// Domain is the shape of the launch; nil is a single task, in which every argument is whole.
	Domain []int
	// Stores lists the stores in order of declaration, each once.
	Stores []StorePartition

	// args holds the number in Stores of each argument, in order of declaration.
	args []int
}

// StorePartition is a store with its partition among the leaves of a launch, in row-major order.
type StorePartition struct {
	Store *Store
	// Partition is a grid of tiles where they form one, and a list of tiles elsewhere. A store that is
	// whole in every leaf has replicas; if leaves reduce into it, it has terms of a sum. The tiles of an
	// image without hint are the boxes around its points. An unbound store has the zero Partition.
	Partition
	// Tile is the size of a tile before clipping; nil for a whole store and an image.
	Tile []int
	// PartOf holds the number of each leaf's part, if leaves share parts. Otherwise leaf i has part i.
	PartOf []int
	// Points lists, for an image without hint, the points of each leaf, sorted.
	Points [][][]int
}

// Whole reports whether every leaf gets the whole store.
func (p *StorePartition) Whole() bool {
	return !p.Store.Unbound && p.Points == nil && p.Tiles == nil && p.tiles() == 1
}

// Leaves returns the number of the launch's leaves: 1 for a single task.
func (s *Strategy) Leaves() int { return shape.Prod(s.Domain) }

// Argument returns the store of argument i with its partition. Arguments are numbered in order of
// declaration: inputs, outputs, reductions.
func (s *Strategy) Argument(i int) *StorePartition { return &s.Stores[s.args[i]] }

// newStrategy returns the strategy with the given tiles. Stores without tiles are whole.
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

// partition returns the tiles of a store of the given shape as its partition among leaves.
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

// grid returns a list of tiles, of the given size before clipping, as a grid if they form one.
func (p Partition) grid(tile []int) (Partition, bool) {
	g := Undivided(p.Extents)
	if len(tile) != len(p.Extents) || len(p.Tiles) == 0 {
		return g, false
	}
	last := p.Tiles[len(p.Tiles)-1]
	for d := range p.Extents {
		// The last tile may be empty, but its lower bound is that of a tile.
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
