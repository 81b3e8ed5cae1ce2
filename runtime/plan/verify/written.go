package verify

import (
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// checkWritten checks that tasks, in their order, read only what earlier ones, or the caller, have
// written.
func (c checker) checkWritten() *plan.Error {
	x := &cells{}
	var unwritten []bool
	for r, list := range c.uses() {
		if err := x.divide(c, region.Root(r), list); err != nil {
			return err
		}
		unwritten = slices.Grow(unwritten[:0], x.count)[:x.count]
		if err := c.checkRootWritten(region.Root(r), list, x, unwritten); err != nil {
			return err
		}
	}
	return nil
}

// checkRootWritten is checkWritten for the accesses to one root. unwritten has an entry for each of its
// cells.
func (c checker) checkRootWritten(r region.Root, list []use, x *cells, unwritten []bool) *plan.Error {
	var err *plan.Error
	root := &c.Roots[r]
	for i := range unwritten {
		unwritten[i] = root.Use == plan.Internal || root.Use == plan.Fetched
	}
	var box region.Box
	for i := 0; i < len(list); {
		// The accesses of one task: it reads before it writes.
		t, from := list[i].task, i
		for ; i < len(list) && list[i].task == t; i++ {
			access := int(list[i].access)
			if p := c.Tasks[t].Access[access].Perm; p != perm.Read && p != perm.ReadWrite && p != perm.Reduce {
				continue
			}
			c.box(int(t), access, &box)
			x.each(&box, func(cell int) {
				if unwritten[cell] && err == nil {
					at := x.where(cell)
					err = c.TaskErrorf(int(t), "want elements that an earlier task has written, got some that none has").At(c.Plan, int(t), access, &at)
				}
			})
			if err != nil {
				return err
			}
		}
		for _, u := range list[from:i] {
			p := c.Tasks[t].Access[u.access].Perm
			if p == perm.None || p == perm.Read {
				continue
			}
			c.box(int(t), int(u.access), &box)
			x.each(&box, func(cell int) { unwritten[cell] = p == perm.Scratch })
		}
	}
	if root.Use != plan.Fetched {
		return nil
	}
	if all := region.Whole(r, root.Shape); !all.Empty() {
		x.each(&all.Box, func(cell int) {
			if unwritten[cell] && err == nil {
				err = c.RootErrorf(r, "want tasks that write all of a fetched tensor, got none for some elements")
				at := x.where(cell)
				err.Range = at.String()
			}
		})
	}
	return err
}
