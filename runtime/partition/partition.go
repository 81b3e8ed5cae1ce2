package partition

import (
	"slices"

	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Partition is how a launch divides its stores.
type Partition struct {
	// Domain is the shape of the launch; nil is a single task, in which every argument is whole.
	Domain []int
	// Stores lists the stores in order of declaration, each once, with its division.
	Stores []Divided

	// args holds the number in Stores of each argument, in order of declaration.
	args []int
}

// Leaves returns the number of the launch's leaves: 1 for a single task.
func (p *Partition) Leaves() int { return shape.Prod(p.Domain) }

// Argument returns the store of argument i and how it is divided. Arguments are numbered in order of
// declaration: inputs, outputs, reductions.
func (p *Partition) Argument(i int) *Divided { return &p.Stores[p.args[i]] }

// number notes which store each argument is, and how the launch divides each of them.
func (p *Partition) number(args []argument) {
	p.args = make([]int, len(args))
	reduced := map[*Store]bool{}
	for i, a := range args {
		p.args[i] = slices.IndexFunc(p.Stores, func(d Divided) bool { return d.Store == a.store })
		reduced[a.store] = reduced[a.store] || a.group == Redops
	}
	for i := range p.Stores {
		d := &p.Stores[i]
		if !d.Store.Unbound {
			d.Parallel = d.parallel(p.Leaves(), reduced[d.Store])
		}
	}
}

// Divided is a store with its division.
type Divided struct {
	Store    *Store
	Division Division
	// Parallel is the division as one of regions: a grid of tiles if it is one, else a list of them. A
	// store that is whole in every leaf has replicas or, if leaves reduce into it, terms of a sum. Of an
	// image without hint, tiles are the boxes around its points. An unbound store has none.
	Parallel region.Parallel
}

// parallel returns the regions of a store's division among the leaves of a launch.
func (d *Divided) parallel(leaves int, reduced bool) region.Parallel {
	p := region.Undivided(d.Store.Shape)
	switch {
	case d.Division.Whole && reduced:
		p.Sums = leaves
		return p
	case d.Division.Whole:
		p.Replicas = leaves
		return p
	}
	tiles := d.Division.Tiles
	for _, points := range d.Division.Points {
		var boxes []Box
		for _, at := range points {
			b := Box{Lo: at, Hi: slices.Clone(at)}
			for i := range b.Hi {
				b.Hi[i]++
			}
			boxes = append(boxes, b)
		}
		tiles = append(tiles, around(boxes, len(d.Store.Shape)))
	}
	if grid, ok := regular(d.Store.Shape, d.Division.Tile, tiles); ok {
		return grid
	}
	p.Tiles = tiles
	return p
}

// regular returns tiles as a grid, if they are one.
func regular(extents, tile []int, tiles []Box) (region.Parallel, bool) {
	p := region.Undivided(extents)
	if len(tile) != len(extents) || len(tiles) == 0 {
		return p, false
	}
	last := tiles[len(tiles)-1]
	for d := range extents {
		// The last tile may be empty; its lower bound still tells how many there are.
		if tile[d] > 0 {
			p.Degrees[d] = max(shape.CeilDiv(last.Lo[d], tile[d])+1, 1)
		}
	}
	if p.Parts() != len(tiles) {
		return p, false
	}
	for i, t := range tiles {
		r := p.Part(0, i)
		if b := (Box{Lo: r.Lo, Hi: r.Hi}); t.Empty() != b.Empty() || !t.Empty() && (!slices.Equal(t.Lo, b.Lo) || !slices.Equal(t.Hi, b.Hi)) {
			return p, false
		}
	}
	return p, true
}

// Division is how a store is divided among the leaves of a launch, which are in row-major order.
type Division struct {
	Whole   bool // every leaf sees all of it
	Unbound bool
	// Tile is the size of a tile before clipping; nil for an image.
	Tile []int
	// Tiles has one box for each leaf, empty where there is nothing.
	Tiles []Box
	// Points has, for an image without hint, the points of each leaf, sorted.
	Points [][][]int
}

func (p *Partition) add(s *Store, d Division) {
	if _, ok := p.Of(s); !ok {
		p.Stores = append(p.Stores, Divided{Store: s, Division: d})
	}
}

// Of returns the division of a store.
func (p *Partition) Of(s *Store) (Division, bool) {
	for _, d := range p.Stores {
		if d.Store == s {
			return d.Division, true
		}
	}
	return Division{}, false
}
