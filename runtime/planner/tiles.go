package planner

import (
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Tiled splits each step into one task per tile: tiles of rows of its results, where loops of a formula
// compute it row by row, or those that its operator declares. Dependencies are then between tiles, and where
// memory is used again, between those that touch the same bytes. A step is not split if a tile writes what
// another one accesses. Results are the same.
func Tiled() Option { return func(o *options) { o.tiled = true } }

// Paying enlarges the tiles of Tiled until each takes much longer than a task of a plan takes by itself. A
// step that is too small for two of them stays whole. Results are the same.
func Paying() Option { return func(o *options) { o.paying = true } }

// fewer enlarges tiles of a grid until there are at most a number of them: those of neighbors along the last
// dimension first.
func fewer(g *op.Grid, most int) {
	for d := g.Rank() - 1; d >= 0 && g.Tiles() > most; d-- {
		a := &g.Axis
		if d > 0 {
			a = &g.Inner[d-1]
		}
		others := g.Tiles() / max(shape.CeilDiv(a.Over, a.Grain), 1) // along other dimensions
		a.Grain = max(a.Grain, shape.CeilDiv(a.Over, max(most/max(others, 1), 1)))
	}
}

// more divides tiles of a grid while there are at most half of a number of them, if it has as many indices:
// those of neighbors along the first dimension first. There are no more than the number then, so that a chain
// of steps is not cut finer and finer.
func more(g *op.Grid, least int) {
	for d := 0; d < g.Rank() && 2*g.Tiles() <= least; d++ {
		a := &g.Axis
		if d > 0 {
			a = &g.Inner[d-1]
		}
		others := max(g.Tiles()/max(shape.CeilDiv(a.Over, a.Grain), 1), 1) // along other dimensions
		a.Grain = min(a.Grain, max(shape.CeilDiv(a.Over, least/others), 1))
	}
}

// bounds are what limits the tiles of a call's steps. params holds the parameter of each access, or -1 for an
// access without footprint, and demands the lower bounds of constraints on the tiles of each access.
type bounds struct {
	resolved  *task.Resolution
	signature *task.Signature
	number    int // of the task
	params    []int
	demands   []partition.Limit
}

// step appends a step of a call: one task, or one per tile.
func (b *builder) step(t plan.Task, grid op.Grid, tiles *task.Tiles, x *bounds) {
	if tiles != nil && tiles.Rows != nil {
		if b.tiled && b.target.Name == op.CPU && b.rows(t, tiles.Grid(grid), tiles, x) {
			return
		}
		tiles = nil
	}
	t.Over, t.Grain = grid.Over, grid.Grain
	if grid.Rank() > 1 {
		t.Inner = slices.Clone(grid.Inner)
	}
	if tiles != nil {
		t.Access = x.touching(t.Access, tiles)
	}
	constrained := x.constrain(&t)
	coarsen(&t, constrained)
	if tiles == nil || !b.tiled || !disjoint(t.Access, &grid) {
		b.whole(t)
		return
	}
	cut := tiles.Grid(grid)
	if b.fit(&cut, t.Access, x); b.paying && cut.Tiles() < 2 {
		b.whole(t)
		return
	}
	t.Grain, t.Inner = cut.Grain, cut.Inner
	coarsen(&t, constrained)
	b.split(t)
}

// rows appends tiles of rows of a step's results, which follow from a formula. It reports false if there is
// one tile only, or if a tile writes what another one accesses.
func (b *builder) rows(t plan.Task, grid op.Grid, tiles *task.Tiles, x *bounds) bool {
	t.Access = x.touching(t.Access, tiles)
	more(&grid, b.fit(&grid, t.Access, x))
	t.Over, t.Grain, t.Inner = grid.Over, grid.Grain, grid.Inner
	t.Elementwise = false
	coarsen(&t, x.constrain(&t))
	if grid = t.Grid(); grid.Tiles() < 2 || !disjoint(t.Access, &grid) {
		return false
	}
	b.split(t)
	return true
}

// fit enlarges the tiles of a step so that they pay, if that is asked for. It returns into how many tiles the
// step is to be cut at least.
func (b *builder) fit(g *op.Grid, access []region.Access, x *bounds) (least int) {
	least = b.before(access)
	if b.paying {
		most := x.resolved.Paying(x.number)
		if most > 1 {
			least = max(least, b.near(access))
		}
		fewer(g, max(most, least))
	}
	return least
}

// before returns into how many tiles the steps are cut, at most, that write what the tiles of a step read
// parts of. The step is cut about as finely, however little it does: otherwise it would be a barrier between
// tiles.
func (b *builder) before(access []region.Access) int {
	n := 0
	for i := range access {
		if a := &access[i]; a.Perm != perm.Write && moves(a) {
			n = max(n, b.tiles[a.Root])
		}
	}
	return n
}

// near returns into how many tiles a step is cut so that what moves from tile to tile fits into a cache
// beside what all tiles read; 0 if that alone is too much.
func (b *builder) near(access []region.Access) int {
	moving, whole := traffic(b.Roots, access)
	if whole > b.cache/2 {
		return 0
	}
	n := 1
	for moving/int64(n) > b.cache/2 {
		n *= 2
	}
	return n
}

// whole appends a task that is not cut.
func (b *builder) whole(t plan.Task) {
	for i := range t.Access {
		if a := &t.Access[i]; a.Perm.Writes() {
			delete(b.tiles, a.Root)
		}
	}
	b.Tasks = append(b.Tasks, t)
}

// split appends a task for each tile of a task.
func (b *builder) split(t plan.Task) {
	grid := t.Grid()
	for i := range t.Access {
		if a := &t.Access[i]; a.Perm.Writes() {
			b.tiles[a.Root] = grid.Tiles()
		}
	}
	for k := range grid.Tiles() {
		t.Tile = k + 1
		b.Tasks = append(b.Tasks, t)
	}
}

// touching returns accesses with the footprints of their parameters.
func (x *bounds) touching(access []region.Access, tiles *task.Tiles) []region.Access {
	access = slices.Clone(access)
	for i, p := range x.params {
		if p < 0 {
			continue
		}
		if f := tiles.Of(&x.signature.Params[p]); len(f) == len(access[i].Lo) {
			access[i].Footprint = f
		}
	}
	return access
}

// constrain sets the lower bounds of constraints on a task's accesses, and returns these accesses. A view
// has other axes than its root, so a constrained view prevents tiling.
func (x *bounds) constrain(t *plan.Task) []region.Access {
	var out []region.Access
	for i, d := range x.demands {
		if d.Extents == nil {
			continue
		}
		a := t.Access[i]
		if len(d.Extents) == len(a.Hi) {
			a.Least = x.resolved.Least(x.number, d, &a)
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
	for d, grain := tooFine(t, accesses); d >= 0; d, grain = tooFine(t, accesses) {
		if d == 0 {
			t.Grain = grain
		} else {
			t.Inner[d-1].Grain = grain
		}
	}
}

// tooFine returns a dimension along which tiles violate a lower bound, or -1, and the next extent that may
// be enough.
func tooFine(t *plan.Task, accesses []region.Access) (dim, grain int) {
	g := t.Grid()
	for i := range accesses {
		a := &accesses[i]
		if dim, grain = a.Footprint.Cut(&g, a.Hi, a.Least); dim >= 0 {
			return dim, grain
		}
	}
	return -1, 0
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
