package task

import (
	"errors"
	"sync"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Tiles describes how a step is cut into tiles that may be tasks of their own.
type Tiles struct {
	// Rows holds the extents of the grid of tiles that follow from a formula: the first axes of the results.
	// Without it, tiles are those of the step's own grid.
	Rows []int
	Size []int // extents of a tile, for each dimension of the grid
	// Footprints holds, by slot, the elements that an index accesses; nil stands for the whole tensor. Grads
	// holds them for gradients whose footprint is another one.
	Footprints, Grads []region.Footprint
}

// Of returns the elements of the tensors of a parameter that an index accesses; nil stands for all elements.
func (t *Tiles) Of(p *Param) region.Footprint {
	if p.Grad && t.Grads != nil {
		return t.Grads[p.Slot]
	}
	return t.Footprints[p.Slot]
}

// Grid returns the grid of the tiles, given the step's own grid.
func (t *Tiles) Grid(own op.Grid) op.Grid {
	if len(t.Rows) > 0 {
		own = op.Grid{Axis: op.Axis{Over: t.Rows[0]}}
		for _, n := range t.Rows[1:] {
			own.Inner = append(own.Inner, op.Axis{Over: n})
		}
	} else {
		own.Inner = append([]op.Axis{}, own.Inner...)
	}
	own.Grain = t.Size[0]
	for d := range own.Inner {
		own.Inner[d].Grain = t.Size[d+1]
	}
	return own
}

// Tiles that pay have leastAmount elements and operations at least, as amount counts them: some microseconds.
// A task of a plan takes some tenths of one. There are mostPaying tiles at most: with more, a worker that has
// finished waits less for others, but each of its tiles reads again what all tiles read, such as a weight.
const (
	leastAmount = 1 << 12
	mostPaying  = 16
)

// amount returns how long task number t takes, about, as the number of elements that pass through it in that
// time: those of its tensors, and one for each operationsPerElement operations.
func (r *Resolution) amount(t int) float64 {
	const operationsPerElement = 16
	n := 0.0
	if t < len(r.Costs) {
		n = r.Costs[t].Flops / operationsPerElement
	}
	for _, operands := range r.Slots {
		for _, o := range operands {
			n += float64(shape.Prod(o.Shape))
		}
	}
	return n
}

// Paying returns into how many tiles task number t may be cut so that they pay; 1 if none do.
func (r *Resolution) Paying(t int) int {
	n := 1
	for amount := r.amount(t); n < mostPaying && amount >= float64(2*n*leastAmount); {
		n *= 2
	}
	return n
}

// tileFormula is what TileFormulas set.
var tileFormula func(*Operator, *Resolution, int, Asked) (*Tiles, float64, error)

// TileFormulas says how tasks that loops of formulas compute are cut into tiles, and how many operations on
// elements the loops make, about. The compiler of formulas calls it once, before any other use of this
// package.
func TileFormulas(tiles func(o *Operator, r *Resolution, task int, asked Asked) (*Tiles, float64, error)) {
	tileFormula = tiles
}

// cuts holds the tiles that follow from the formula.
type cuts struct {
	mu sync.Mutex
	of map[cutOf]cut
}

// cutOf is what tiles follow from: a task, and which gradients it computes.
type cutOf struct {
	task int
	Asked
}

type cut struct {
	*Tiles
	effort float64
	whole  error // why there are none
}

// errOwn is why a step has no tiles that follow from a formula.
var errOwn = errors.New("a kernel by hand computes it, and the spec states no tiles")

// Tiles returns how a step of the operator's task number t is cut: as the spec says, or as follows from the
// formula for this use, in a call that computes the gradients asked for. The error says why it is not cut.
func (r *Resolution) Tiles(t, step int, asked Asked) (*Tiles, error) {
	if cut := r.Cuts[[2]int{t, step}]; cut != nil {
		return cut, nil
	}
	c, err := r.cut(t, asked)
	if err != nil {
		return nil, err
	}
	return c.Tiles, c.whole
}

// Effort returns about how many operations on elements the loops of task number t make in a call that
// computes the gradients asked for; 0 if no loops compute it.
func (r *Resolution) Effort(t int, asked Asked) float64 {
	c, _ := r.cut(t, asked)
	return c.effort
}

// cut finds the tiles that follow from the formula.
func (r *Resolution) cut(t int, asked Asked) (cut, error) {
	if !r.Loops[t] || tileFormula == nil || r.operator == nil {
		return cut{}, errOwn
	}
	r.found.mu.Lock()
	defer r.found.mu.Unlock()
	key := cutOf{t, asked}
	c, ok := r.found.of[key]
	if !ok {
		c.Tiles, c.effort, c.whole = tileFormula(r.operator, r, t, asked)
		if r.found.of == nil {
			r.found.of = map[cutOf]cut{}
		}
		r.found.of[key] = c
	}
	return c, nil
}
