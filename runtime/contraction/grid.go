package contraction

import "github.com/opgen/opgen/runtime/box"

// Grid is a box that is cut into blocks. The last block along an axis may be smaller.
type Grid struct {
	Axes  []box.Axis
	tiles []int // the extents of a block
}

// Block is a block of a grid: its axes, and at which elements of c, a and b it begins.
type Block struct {
	Axes    []box.Axis
	C, A, B int
}

// newGrid cuts a box into blocks of up to limit elements. Inner axes are whole as far as that goes.
func newGrid(axes []box.Axis, limit int) Grid {
	g := Grid{axes, make([]int, len(axes))}
	for d := len(axes) - 1; d >= 0; d-- {
		n := axes[d].Extent
		most := max(min(limit, n), 1)
		blocks := (n + most - 1) / most
		g.tiles[d] = (n + blocks - 1) / blocks // so that blocks have about the same size
		limit /= g.tiles[d]
	}
	return g
}

// size returns how many elements a block has.
func (g *Grid) size() int {
	n := 1
	for _, t := range g.tiles {
		n *= t
	}
	return n
}

// Parts returns how many blocks there are.
func (g *Grid) Parts() int {
	n := 1
	for d, t := range g.tiles {
		n *= (g.Axes[d].Extent + t - 1) / t
	}
	return n
}

// Block returns block i, joined with those behind it along the last axis, n in all.
func (g *Grid) Block(i, n int) Block {
	b := Block{Axes: make([]box.Axis, len(g.Axes))}
	for d := len(g.Axes) - 1; d >= 0; d-- {
		x, t := g.Axes[d], g.tiles[d]
		blocks := (x.Extent + t - 1) / t
		at := i % blocks * t
		i /= blocks
		b.Axes[d] = x
		b.Axes[d].Extent = min(n*t, x.Extent-at)
		b.C, b.A, b.B = b.C+at*x.C, b.A+at*x.A, b.B+at*x.B
		n = 1
	}
	return b
}

// Size returns how many elements a block has.
func (p *Block) Size() int { return count(p.Axes) }

// Index returns the offset of index i of a block from its first element.
func (p *Block) Index(i int) (c, a, b int) {
	for d := len(p.Axes) - 1; d >= 0; d-- {
		x := p.Axes[d]
		v := i % x.Extent
		i /= x.Extent
		c, a, b = c+v*x.C, a+v*x.A, b+v*x.B
	}
	return c, a, b
}
