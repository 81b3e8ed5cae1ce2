package verify

import (
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// checkTasks checks each call and each task by itself.
func (c checker) checkTasks() *plan.Error {
	for i := range c.Calls {
		if err := c.checkCall(&c.Calls[i]); err != nil {
			return err
		}
	}
	for i := range c.States {
		s := &c.States[i]
		if err := c.checkCall(&s.Init); err != nil {
			return err
		}
		if s.Cleanup == nil {
			continue
		}
		if err := c.checkCall(s.Cleanup); err != nil {
			return err
		}
	}
	for t := range c.Tasks {
		task := &c.Tasks[t]
		switch {
		case task.Group == nil && !c.runnable(task) || task.Group != nil && task.Builtin != nil:
			return c.Errorf("want a group, a built-in operation or a call from 0 to %d, got call %d in task %d", len(c.Calls)-1, task.Call, t)
		case task.Builtin != nil && len(task.Access) == 0:
			return c.Errorf("want tensors for %s, got none in task %d", task.Builtin.Op, t)
		case task.Step < 0:
			return c.Errorf("want a step of 0 or more, got %d in task %d", task.Step, t)
		}
		if err := c.checkGrid(t); err != nil {
			return err
		}
		for i := range task.Access {
			if err := c.checkWithin(t, i); err != nil {
				return err
			}
			if err := c.checkLeast(t, i); err != nil {
				return err
			}
		}
		if task.Group != nil {
			if err := c.checkGroup(t); err != nil {
				return err
			}
		}
		for _, before := range task.After {
			if before < 0 || before >= t {
				return c.TaskErrorf(t, "want explicit dependencies on earlier tasks, got task %d for task %d", before, t)
			}
		}
	}
	return nil
}

// checkGrid checks the grid of a task. Only steps of calls have grids of several dimensions, or tasks for
// single tiles.
func (c checker) checkGrid(t int) *plan.Error {
	task := &c.Tasks[t]
	g := task.Grid()
	if err := g.Check(); err != nil {
		return c.Errorf("task %d: %v", t, err)
	}
	if task.Tile < 0 || task.Tile > g.Tiles() {
		return c.TaskErrorf(t, "want tile 1 to %d, or 0 for all, got %d", g.Tiles(), task.Tile)
	}
	if (task.Tile > 0 || g.Rank() > 1) && (task.Group != nil || task.Builtin != nil) {
		return c.TaskErrorf(t, "want built-in operations and fused tasks over one dimension, got %v", &g)
	}
	return nil
}

// checkCall checks that the tensors of a call are roots of the plan.
func (c checker) checkCall(call *plan.Call) *plan.Error {
	for _, added := range call.Added {
		if err := added.Check(); err != nil {
			return c.Errorf("%v in a call of %s", err, call.Node)
		}
	}
	for _, bound := range call.Params {
		for _, b := range bound {
			if b.Root != plan.NoRoot && !c.has(b.Root) {
				return c.Errorf("want roots from 0 to %d, got %d in a call of %s", len(c.Roots)-1, b.Root, call.Node)
			}
		}
	}
	return nil
}

// runnable reports whether a task that is no group is a built-in operation or has a call.
func (c checker) runnable(t *plan.Task) bool {
	return t.Builtin != nil || t.Call >= 0 && t.Call < len(c.Calls)
}

// checkWithin checks that an access of a task lies within its root.
func (c checker) checkWithin(t, access int) *plan.Error {
	a := &c.Tasks[t].Access[access]
	switch {
	case !c.has(a.Root):
		return c.TaskErrorf(t, "want roots from 0 to %d, got %d", len(c.Roots)-1, a.Root)
	case a.Footprint.Check(1+len(c.Tasks[t].Inner), len(c.Roots[a.Root].Shape)) != nil:
		return c.TaskErrorf(t, "%v", a.Footprint.Check(1+len(c.Tasks[t].Inner), len(c.Roots[a.Root].Shape))).At(c.Plan, t, access, nil)
	case a.Least != nil && len(a.Least) != len(c.Roots[a.Root].Shape):
		return c.TaskErrorf(t, "want a least extent for each of %d axes, got %v", len(c.Roots[a.Root].Shape), a.Least).At(c.Plan, t, access, nil)
	case !c.inside(a):
		return c.TaskErrorf(t, "want indices of a tensor of shape %v, got %v to %v", c.Roots[a.Root].Shape, a.Lo, a.Hi).At(c.Plan, t, access, nil)
	}
	return nil
}

// checkLeast checks that the tiles of a task are as large as an access of it demands.
func (c checker) checkLeast(t, access int) *plan.Error {
	a, g := &c.Tasks[t].Access[access], c.Tasks[t].Grid()
	if d, _ := a.Footprint.Cut(&g, c.Roots[a.Root].Shape, a.Least); d >= 0 {
		return c.TaskErrorf(t, "want tiles of at least %v, got the grid %v, which is too fine along dimension %d", a.Least, &g, d).At(c.Plan, t, access, nil)
	}
	return nil
}

// inside reports whether an access lies within its root.
func (c checker) inside(a *region.Access) bool {
	shape := c.Roots[a.Root].Shape
	if len(a.Lo) != len(shape) || len(a.Hi) != len(shape) {
		return false
	}
	for d, n := range shape {
		if a.Lo[d] < 0 || a.Hi[d] < a.Lo[d] || a.Hi[d] > n {
			return false
		}
	}
	return true
}

// checkPairs checks that no task writes memory that it also accesses through another parameter, unless
// its operator says that it works in place there.
func (c checker) checkPairs() *plan.Error {
	for t := range c.Tasks {
		parts := c.Tasks[t : t+1]
		if g := c.Tasks[t].Group; g != nil {
			parts = g.Parts
		}
		for k := range parts {
			if a := c.undeclared(&parts[k]); a != nil {
				err := c.TaskErrorf(t, "want memory of its own for what a task writes, got a tensor that it accesses twice")
				err.Root = c.Roots[a.Root].Name
				return err
			}
		}
	}
	return nil
}

// undeclared returns an access to what a task writes through another parameter, unless its operator
// says that it may.
func (c checker) undeclared(t *plan.Task) *region.Access {
	if t.Builtin != nil {
		return nil
	}
	for j := range t.Access {
		b := &t.Access[j]
		for i := range t.Access[:j] {
			a := &t.Access[i]
			if a.Root != b.Root || a.Perm == perm.Read && b.Perm == perm.Read {
				continue
			}
			call := &c.Calls[t.Call]
			if tensors := accessed(call); j >= len(tensors) || !inPlace(call, tensors[i], tensors[j]) {
				return b
			}
		}
	}
	return nil
}

// bound is a tensor of a call: its parameter, and its number in the parameter.
type bound struct{ param, tensor int }

// accessed returns, for each access of the call's tasks, the tensor to which it belongs.
func accessed(call *plan.Call) (tensors []bound) {
	for i, list := range call.Params {
		for k, b := range list {
			if b.Root != plan.NoRoot {
				tensors = append(tensors, bound{i, k})
			}
		}
	}
	return tensors
}

// inPlace reports whether one of two tensors lies where the other lay.
func inPlace(call *plan.Call, x, y bound) bool {
	k := x.tensor
	return k == y.tensor && (slices.Contains(call.InPlace, plan.Pair{Param: x.param, Of: y.param, Tensor: k}) || slices.Contains(call.InPlace, plan.Pair{Param: y.param, Of: x.param, Tensor: k}))
}
