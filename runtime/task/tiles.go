package task

import (
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Tiles says how a step is cut into tiles that may be tasks of their own.
type Tiles struct {
	Size []int // extents of a tile, for each dimension of the step's grid
	// Footprints says, per slot, what an index touches; nil is the whole tensor.
	Footprints []region.Footprint
}

// Tiles returns how a step of the operator's task number t is cut; nil if it is not.
func (r *Resolution) Tiles(t, step int) *Tiles { return r.tiles[[2]int{t, step}] }

// usualTiles is the number of tiles into which the usual grains cut a grid, about.
const usualTiles = 16

// SetWork gives a step of the operator's task number t the extent and the grain of its first dimension, and the
// extents of the others. A grain of 0 stands for usual grains: they cut as many dimensions, from the first on, as make
// some sixteen tiles. They leave the last of several dimensions whole, as kernels are fastest along it.
func (r *Resolution) SetWork(t, step, over, grain int, inner ...int) {
	left := usualTiles
	usual := func(n int) op.Axis {
		a := op.Axis{Over: max(n, 0), Grain: max(shape.CeilDiv(n, left), 1)}
		left = shape.CeilDiv(left, max(n, 1))
		return a
	}
	var g op.Grid
	if g.Axis = usual(over); grain > 0 {
		g.Grain, left = grain, 1
	}
	for i, n := range inner {
		if i == len(inner)-1 {
			left = 1
		}
		g.Inner = append(g.Inner, usual(n))
	}
	r.grids[t][step] = g
}

// SetTiles gives the tiles of a step their extents.
func (r *Resolution) SetTiles(t, step int, size ...int) {
	if r.tiles == nil {
		r.tiles = map[[2]int]*Tiles{}
	}
	for i, n := range size {
		size[i] = max(n, 1)
	}
	r.tiles[[2]int{t, step}] = &Tiles{size, make([]region.Footprint, len(r.op.Slots))}
}

// Part is what an index touches of some axes of a tensor.
type Part []region.Span

// Moves returns the part of an axis that dimension d counts.
func Moves(d int) Part { return Part{region.Along(d, 1, 0, 1)} }

// Window returns the part of an axis that moves with dimension d: size elements from scale*i+shift on, where i is the
// index.
func Window(d, scale, shift, size int) Part { return Part{region.Along(d, scale, shift, size)} }

// Flat returns the part of a run of axes whose elements dimension d counts. Only one axis is a box for every range;
// an index touches all of several.
func Flat(d, axes int) Part {
	if axes == 1 {
		return Moves(d)
	}
	return make(Part, axes)
}

// All returns the part of axes all of which every index touches.
func All(axes int) Part { return make(Part, axes) }

// SetFootprint tells what an index of a step that has tiles touches of a slot's tensor.
func SetFootprint[S ~int](r *Resolution, t, step int, slot S, parts ...Part) {
	var f region.Footprint
	for _, p := range parts {
		f = append(f, p...)
	}
	r.tiles[[2]int{t, step}].Footprints[slot] = f
}
