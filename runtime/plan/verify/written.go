package verify

import (
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// checkWritten checks that tasks, in their order, read only what earlier ones, or the caller, have
// written. Elements are told apart only where a root is accessed in parts.
func (c checker) checkWritten() *plan.Error {
	type part struct {
		box     region.Box
		written bool
	}
	parts := make([][]part, len(c.Roots)) // the newest last; what none holds is as at first
	find := func(a region.Access, from int, visit func(box region.Box)) {
		// Walk back until the boxes found cover the access.
		var walk func(box region.Box, i int)
		walk = func(box region.Box, i int) {
			if box.Empty() {
				return
			}
			if i < 0 {
				if use := c.Roots[a.Root].Use; use == plan.Internal || use == plan.Fetched {
					visit(box)
				}
				return
			}
			k := parts[a.Root][i]
			common := box.Intersect(k.box)
			if common.Empty() {
				walk(box, i-1)
				return
			}
			if !k.written {
				visit(common)
			}
			for d := range box.Lo { // the rest of the box: slabs before and after common, axis by axis
				below, above := box.Intersect(box), box.Intersect(box)
				below.Hi[d], above.Lo[d] = common.Lo[d], common.Hi[d]
				walk(below, i-1)
				walk(above, i-1)
				box = box.Intersect(box)
				box.Lo[d], box.Hi[d] = common.Lo[d], common.Hi[d]
			}
		}
		walk(a.Box, from)
	}
	for t := range c.Tasks {
		for i, a := range c.Tasks[t].Access {
			if a.Perm != perm.Read && a.Perm != perm.ReadWrite && a.Perm != perm.Reduce {
				continue
			}
			var err *plan.Error
			find(a, len(parts[a.Root])-1, func(box region.Box) {
				if err == nil {
					err = c.TaskErrorf(t, "want elements that an earlier task has written, got some that none has").At(c.Plan, t, i, &box)
				}
			})
			if err != nil {
				return err
			}
		}
		for _, a := range c.Tasks[t].Access {
			if a.Perm == perm.None || a.Perm == perm.Read || a.Empty() {
				continue
			}
			if c.covers(&a) {
				parts[a.Root] = parts[a.Root][:0]
			}
			parts[a.Root] = append(parts[a.Root], part{a.Box, a.Perm != perm.Scratch})
		}
	}
	for i := range c.Roots {
		if r := &c.Roots[i]; r.Use == plan.Fetched {
			a := region.Access{Region: region.Whole(region.Root(i), r.Shape)}
			var err *plan.Error
			find(a, len(parts[i])-1, func(box region.Box) {
				if err == nil {
					err = c.RootErrorf(a.Root, "want tasks that write all of a fetched tensor, got none for some elements")
					err.Range = box.String()
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
