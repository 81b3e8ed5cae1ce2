package task

import (
	"errors"
	"sync"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
)

// Tiles says how a step is cut into tiles that may be tasks of their own.
type Tiles struct {
	// Rows holds the extents of the grid of tiles that follow from a formula: the first axes of the results.
	// Without it, tiles are those of the step's own grid.
	Rows []int
	Size []int // extents of a tile, for each dimension of the grid
	// Footprints says, per slot, what an index touches; nil is the whole tensor.
	Footprints []region.Footprint
}

// Grid returns the grid of which the tiles are, where the step's own grid is given.
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

// tileFormula is what TileFormulas set.
var tileFormula func(*Operator, *Resolution, int) (*Tiles, error)

// TileFormulas says how tasks that loops of formulas compute are cut into tiles. The compiler of formulas
// calls it once, before any other use of this package.
func TileFormulas(tiles func(o *Operator, r *Resolution, task int) (*Tiles, error)) {
	tileFormula = tiles
}

// cuts holds the tiles that follow from the formula, by task.
type cuts struct {
	mu sync.Mutex
	of map[int]cut
}

type cut struct {
	*Tiles
	whole error // why there are none
}

// errOwn is why a step has no tiles that follow from a formula.
var errOwn = errors.New("a kernel by hand computes it, and the spec states no tiles")

// Tiles returns how a step of the operator's task number t is cut: as the spec says, or as follows from the
// formula for this use. The error says why it is not cut.
func (r *Resolution) Tiles(t, step int) (*Tiles, error) {
	if cut := r.Cuts[[2]int{t, step}]; cut != nil {
		return cut, nil
	}
	if !r.Loops[t] || tileFormula == nil || r.operator == nil {
		return nil, errOwn
	}
	r.found.mu.Lock()
	defer r.found.mu.Unlock()
	c, ok := r.found.of[t]
	if !ok {
		c.Tiles, c.whole = tileFormula(r.operator, r, t)
		if r.found.of == nil {
			r.found.of = map[int]cut{}
		}
		r.found.of[t] = c
	}
	return c.Tiles, c.whole
}
