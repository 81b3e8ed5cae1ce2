package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// MaxRank is the largest number of dimensions of a grid.
const MaxRank = 3

// Axis is a dimension of a grid: its extent, and the extent of its tiles. The last tile may be smaller.
type Axis struct {
	Over  int `json:"over"`
	Grain int `json:"grain"`
}

// tiles returns the number of tiles along the axis.
func (a Axis) tiles() int {
	if a.Over == 0 {
		return 0
	}
	return (a.Over-1)/a.Grain + 1
}

// at returns the indices of tile k.
func (a Axis) at(k int) (lo, hi int) {
	lo = k * a.Grain
	return lo, lo + min(a.Grain, a.Over-lo)
}

// Grid is the domain of a task, which is cut into tiles. Tiles may run side by side. Over and Grain are
// those of dimension 0; Inner holds the other dimensions, at most two. Tiles are numbered from 0, those along
// the last dimension first.
type Grid struct {
	Axis
	Inner []Axis
}

// Line returns a grid of one dimension.
func Line(over, grain int) *Grid { return &Grid{Axis: Axis{over, grain}} }

// Check returns an error unless extents are 0 or more, grains 1 or more, dimensions at most MaxRank, and the
// tiles can be counted. The extents of dimensions 1 and 2 are at most math.MaxInt32, as Box asks for.
func (g *Grid) Check() error {
	ok := len(g.Inner) < MaxRank
	n := 1
	for d := range g.Rank() {
		a := g.Dim(d)
		if ok = ok && a.Over >= 0 && a.Grain >= 1 && (d == 0 || a.Over <= math.MaxInt32); !ok {
			break
		}
		k := a.tiles()
		ok = k == 0 || n <= math.MaxInt/k
		n *= k
	}
	if !ok {
		return fmt.Errorf("want up to %d extents of 0 or more and grains of 1 or more, got %v", MaxRank, g)
	}
	return nil
}

// Cut divides the grid into about n ranges, along the first dimensions. It does not divide the last of
// several dimensions, along which kernels are fastest.
func (g *Grid) Cut(n int) {
	for d := range g.Rank() {
		a := &g.Axis
		if d > 0 {
			a = &g.Inner[d-1]
			if d == len(g.Inner) {
				n = 1
			}
		}
		a.Grain = max(shape.CeilDiv(a.Over, n), 1)
		n = shape.CeilDiv(n, max(a.Over, 1))
	}
}

// Equal reports whether two grids have the same extents and grains.
func (g *Grid) Equal(h *Grid) bool { return g.Axis == h.Axis && slices.Equal(g.Inner, h.Inner) }

// Rank returns the number of dimensions.
func (g *Grid) Rank() int { return 1 + len(g.Inner) }

// Dim returns dimension d.
func (g *Grid) Dim(d int) Axis {
	if d == 0 {
		return g.Axis
	}
	return g.Inner[d-1]
}

// Tiles returns the number of tiles.
func (g *Grid) Tiles() int {
	n := g.tiles()
	for _, a := range g.Inner {
		n *= a.tiles()
	}
	return n
}

// Tile returns the indices of tile k.
func (g *Grid) Tile(k int) Range {
	if len(g.Inner) == 0 {
		lo, hi := g.at(k)
		return Range{Lo: lo, Hi: hi}
	}
	var at [MaxRank][2]int
	for d := len(g.Inner); d > 0; d-- {
		a := g.Inner[d-1]
		n := a.tiles()
		at[d][0], at[d][1] = a.at(k % n)
		k /= n
	}
	at[0][0], at[0][1] = g.at(k)
	return Box(at[:g.Rank()]...)
}

// Number returns the number of the tile that begins where a range does.
func (g *Grid) Number(r Range) (k int) {
	for d := range g.Rank() {
		a := g.Dim(d)
		lo, _ := r.Dim(d)
		k = k*a.tiles() + lo/a.Grain
	}
	return k
}

// Whole returns all indices of the domain.
func (g *Grid) Whole() Range {
	at := [MaxRank][2]int{{0, g.Over}}
	for d, a := range g.Inner {
		at[d+1] = [2]int{0, a.Over}
	}
	return Box(at[:g.Rank()]...)
}

// Part returns how many of all indices tile k has: a number from 0 to 1. The grid must not be empty.
func (g *Grid) Part(k int) float64 {
	part := 1.0
	r, all := g.Tile(k), g.Whole()
	for d := range g.Rank() {
		lo, hi := r.Dim(d)
		_, n := all.Dim(d)
		part *= float64(hi-lo) / float64(n)
	}
	return part
}

// String formats the grid as extents and grains, such as 64 by 16 or 64 x 32 by 16 x 32.
func (g *Grid) String() string {
	over, grain := fmt.Sprint(g.Over), fmt.Sprint(g.Grain)
	for _, a := range g.Inner {
		over, grain = fmt.Sprintf("%s x %d", over, a.Over), fmt.Sprintf("%s x %d", grain, a.Grain)
	}
	return over + " by " + grain
}
