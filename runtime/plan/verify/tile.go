package verify

import (
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
)

// checkTiles checks that, where tiles of a step are tasks of their own, each tile of the step is one task,
// and nothing else runs the step. What tiles touch follows from their footprints, so that checkAccesses
// orders those that conflict.
func (c checker) checkTiles() *plan.Error {
	type step struct{ call, number int }
	type tiles struct {
		grid  op.Grid
		seen  []bool
		first int // task
		left  int
	}
	steps := map[step]*tiles{}
	var at step
	var s *tiles // of at
	for t := range c.Tasks {
		task := &c.Tasks[t]
		if task.Tile == 0 {
			continue
		}
		if key := (step{task.Call, task.Step}); s == nil || key != at {
			if at, s = key, steps[key]; s == nil {
				g := task.Grid()
				if g.Tiles() > len(c.Tasks) {
					return c.TaskErrorf(t, "want a task for each of %d tiles, got %d tasks", g.Tiles(), len(c.Tasks))
				}
				s = &tiles{grid: g, seen: make([]bool, g.Tiles()), first: t, left: g.Tiles()}
				steps[key] = s
			}
		}
		if g := task.Grid(); !g.Equal(&s.grid) {
			return c.TaskErrorf(t, "want tiles of one grid, got %v and %v", &s.grid, &g)
		}
		if s.seen[task.Tile-1] {
			return c.TaskErrorf(t, "want one task for each tile, got another for tile %d", task.Tile)
		}
		s.seen[task.Tile-1] = true
		s.left--
	}
	for t := range c.Tasks {
		task := &c.Tasks[t]
		s := steps[step{task.Call, task.Step}]
		switch {
		case s == nil || task.Builtin != nil || task.Group != nil:
		case task.Tile == 0:
			return c.TaskErrorf(t, "want tiles or the whole of a step, got both")
		case s.left > 0:
			return c.TaskErrorf(s.first, "want a task for each of %d tiles, got none for %d of them", len(s.seen), s.left)
		}
	}
	return nil
}
