package planner

import (
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// Tiled makes a task of each tile of a step whose operator says how it is cut into tiles. Dependencies are then
// those between tiles. A step stays one task if tiles would write the same elements. The plan computes the same.
func Tiled() Option { return func(o *options) { o.tiled = true } }

// step appends a step of a call: one task, or one for each tile. slots holds the slot of each access, or -1 if the
// access has no footprint.
func (b *builder) step(t plan.Task, grid op.Grid, tiles *task.Tiles, slots []int) {
	t.Over, t.Grain = grid.Over, grid.Grain
	if grid.Rank() > 1 {
		t.Inner = slices.Clone(grid.Inner)
	}
	if tiles != nil {
		t.Access = slices.Clone(t.Access)
		for i, s := range slots {
			if s >= 0 && len(tiles.Footprints[s]) == len(t.Access[i].Lo) {
				t.Access[i].Footprint = tiles.Footprints[s]
			}
		}
	}
	if tiles == nil || !b.tiled || len(b.Calls[t.Call].InPlace) > 0 || !disjoint(t.Access, &grid) {
		b.Tasks = append(b.Tasks, t)
		return
	}
	t.Grain = tiles.Size[0]
	for d := range t.Inner {
		t.Inner[d].Grain = tiles.Size[d+1]
	}
	grid = t.Grid()
	for k := range grid.Tiles() {
		t.Tile = k + 1
		b.Tasks = append(b.Tasks, t)
	}
}

// disjoint reports whether no two tiles write the same element.
func disjoint(access []region.Access, g *op.Grid) bool {
	return !slices.ContainsFunc(access, func(a region.Access) bool { return a.Perm != perm.Read && !a.Footprint.Disjoint(g) })
}
