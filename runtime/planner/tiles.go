package planner

import (
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// Tiled splits each step into one task per tile: tiles of rows of its results, where loops of a formula
// compute it row by row, or those that its operator declares. Dependencies are then between tiles, and where
// memory is used again, between those that touch the same bytes. A step is not split if a tile writes what
// another one accesses. Results are the same.
func Tiled() Option { return func(o *options) { o.tiled = true } }

// step appends a step of a call: one task, or one per tile. slots holds the slot of each access, or -1 for
// an access without footprint. demands holds the lower bounds of constraints on the tiles of each access.
func (b *builder) step(t plan.Task, grid op.Grid, tiles *task.Tiles, slots []int, demands []partition.Limit) {
	if tiles != nil && tiles.Rows != nil {
		if b.tiled && b.target.Name == op.CPU && b.rows(t, tiles.Grid(grid), tiles, slots, demands) {
			return
		}
		tiles = nil
	}
	t.Over, t.Grain = grid.Over, grid.Grain
	if grid.Rank() > 1 {
		t.Inner = slices.Clone(grid.Inner)
	}
	if tiles != nil {
		t.Access = touching(t.Access, tiles, slots)
	}
	constrained := b.constrain(&t, demands)
	coarsen(&t, constrained)
	if tiles == nil || !b.tiled || !disjoint(t.Access, &grid) {
		b.Tasks = append(b.Tasks, t)
		return
	}
	t.Grain = tiles.Size[0]
	for d := range t.Inner {
		t.Inner[d].Grain = tiles.Size[d+1]
	}
	coarsen(&t, constrained)
	b.split(t)
}

// rows appends tiles of rows of a step's results, which follow from a formula. It reports false if there is
// one tile only, or if a tile writes what another one accesses.
func (b *builder) rows(t plan.Task, grid op.Grid, tiles *task.Tiles, slots []int, demands []partition.Limit) bool {
	t.Over, t.Grain, t.Inner = grid.Over, grid.Grain, grid.Inner
	t.Elementwise = false
	t.Access = touching(t.Access, tiles, slots)
	coarsen(&t, b.constrain(&t, demands))
	if grid = t.Grid(); grid.Tiles() < 2 || !disjoint(t.Access, &grid) {
		return false
	}
	b.split(t)
	return true
}

// split appends a task for each tile of a task.
func (b *builder) split(t plan.Task) {
	grid := t.Grid()
	for k := range grid.Tiles() {
		t.Tile = k + 1
		b.Tasks = append(b.Tasks, t)
	}
}

// touching returns accesses with the footprints of their slots.
func touching(access []region.Access, tiles *task.Tiles, slots []int) []region.Access {
	access = slices.Clone(access)
	for i, s := range slots {
		if s >= 0 && len(tiles.Footprints[s]) == len(access[i].Lo) {
			access[i].Footprint = tiles.Footprints[s]
		}
	}
	return access
}

// constrain sets the lower bounds of constraints on a task's accesses, and returns these accesses. A view
// has other axes than its root, so a constrained view prevents tiling.
func (b *builder) constrain(t *plan.Task, demands []partition.Limit) []region.Access {
	var out []region.Access
	for i, d := range demands {
		if d.Extents == nil {
			continue
		}
		a := t.Access[i]
		if len(d.Extents) == len(a.Hi) {
			a.Least = a.Footprint.Least(d.Extents, d.Whole, a.Hi)
		} else {
			a.Least = slices.Clone(a.Hi)
		}
		if a.Least == nil {
			continue
		}
		if out == nil {
			t.Access = slices.Clone(t.Access)
		}
		t.Access[i] = a
		out = append(out, a)
	}
	return out
}

// coarsen enlarges the tiles of a task until they satisfy the lower bounds of its accesses.
func coarsen(t *plan.Task, accesses []region.Access) {
	for d := tooFine(t, accesses); d >= 0; d = tooFine(t, accesses) {
		if d == 0 {
			t.Grain++
		} else {
			t.Inner[d-1].Grain++
		}
	}
}

// tooFine returns a dimension along which tiles violate a lower bound, or -1.
func tooFine(t *plan.Task, accesses []region.Access) int {
	g := t.Grid()
	for i := range accesses {
		a := &accesses[i]
		if d := a.Footprint.Cut(&g, a.Hi, a.Least); d >= 0 {
			return d
		}
	}
	return -1
}

// disjoint reports whether no tile writes an element that another one accesses: no two write the same
// element, and of a tensor in place of another, each tile reads what it writes.
func disjoint(access []region.Access, g *op.Grid) bool {
	for i := range access {
		a := &access[i]
		if a.Perm == perm.Read {
			continue
		}
		if !a.Footprint.Disjoint(g) {
			return false
		}
		for k := range access {
			if b := &access[k]; b.Root == a.Root && !slices.Equal(a.Footprint, b.Footprint) {
				return false
			}
		}
	}
	return true
}
