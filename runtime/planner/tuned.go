package planner

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// Tuned cuts steps into as many ranges as was measured to be fast on a device. Tasks of groups, tiles that
// are tasks of their own, tasks that fold values and plans for GPUs have the usual ranges. Results are the
// same.
func Tuned(c *tuned.Choices) Option { return func(o *options) { o.choices = c } }

// choose gives tasks of the draft the ranges that were measured for their uses. It comes after groups, since
// what was measured is a task by itself.
func (b *builder) choose() error {
	if b.choices == nil || b.target.Name != op.CPU {
		return nil
	}
	known := map[likeCall]int{}
	for i := range b.Tasks {
		t := &b.Tasks[i]
		if t.Call < 0 || t.Tile > 0 {
			continue
		}
		use := b.used[t.Call]
		n, ok := known[use]
		if !ok {
			var err error
			if n, err = b.choices.Ranges(use.signature, use.resolved); err != nil {
				return fmt.Errorf("planner: %w", err)
			}
			if slices.ContainsFunc(use.signature.Params, func(p task.Param) bool { return p.Perm == perm.Reduce }) {
				n = 0
			}
			known[use] = n
		}
		if n > 0 {
			recut(t, n)
		}
	}
	return nil
}

// recut cuts a task into about n ranges, which are not smaller than constraints demand.
func recut(t *plan.Task, n int) {
	g := t.Grid()
	g.Inner = slices.Clone(g.Inner)
	g.Cut(n)
	t.Grain, t.Inner = g.Grain, g.Inner
	coarsen(t, slices.DeleteFunc(slices.Clone(t.Access), func(a region.Access) bool { return a.Least == nil }))
}
