package verify

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// checkRoots checks each root by itself.
func (c checker) checkRoots() *plan.Error {
	if c.ArenaBytes < 0 || c.WorkerBytes < 0 {
		return c.Errorf("want sizes of 0 or more, got an arena of %d bytes and %d for each worker", c.ArenaBytes, c.WorkerBytes)
	}
	for i := range c.Roots {
		r := &c.Roots[i]
		fail := func(format string, args ...any) *plan.Error { return c.RootErrorf(region.Root(i), format, args...) }
		pl := r.Place
		switch variable := r.Use == plan.Variable; {
		case slices.ContainsFunc(r.Shape, func(n int) bool { return n < 0 }) || !shape.Fits(r.Shape, max(r.Type.Size(), 1)):
			return fail("want a shape that can be addressed, got %v", r.Shape)
		case variable != (pl.Space == region.Variable):
			return fail("want variables, and nothing else, outside of the arena, got a tensor (%v) in %v memory", r.Use, pl.Space)
		case pl.Bytes != r.Operand().Bytes():
			return fail("want %d bytes, got %d", r.Operand().Bytes(), pl.Bytes)
		case pl.Off < 0 || pl.Off%plan.Align != 0:
			return fail("want an offset that is a multiple of %d, got %d", plan.Align, pl.Off)
		case variable && pl.Off != 0:
			return fail("want a variable to begin its own memory, got offset %d", pl.Off)
		case !variable && r.First <= r.Last && (pl.Off > c.ArenaBytes || pl.Bytes > c.ArenaBytes-pl.Off):
			return fail("want a place within the %d bytes of the arena, got %d bytes at %d", c.ArenaBytes, pl.Bytes, pl.Off)
		}
	}
	return nil
}

// checkLives checks that lifetimes hold all accesses, and that roots which are live together share no
// byte.
func (c checker) checkLives() *plan.Error {
	n := len(c.Tasks)
	for t := range c.Tasks {
		for i := range c.Tasks[t].Access {
			a := &c.Tasks[t].Access[i]
			if r := &c.Roots[a.Root]; t < r.First || t > r.Last {
				return c.TaskErrorf(t, "want accesses within the tensor's lifetime, tasks %d to %d, got task %d", r.First, r.Last, t).At(c.Plan, t, i, &a.Box)
			}
		}
	}
	for i := range c.Roots {
		r := &c.Roots[i]
		if r.Use == plan.Fed && (r.First != -1 || r.Last < -1) || r.Use == plan.Fetched && r.Last != n {
			return c.RootErrorf(region.Root(i), "want a fed tensor to live from -1 on and a fetched one until %d, got tasks %d to %d", n, r.First, r.Last)
		}
	}
	var err *plan.Error
	c.overlapping(func(q, r region.Root) bool {
		a, b := &c.Roots[q], &c.Roots[r]
		meet := a.First <= b.Last && b.First <= a.Last
		// What is fed for the next run must not destroy what the last one left to be fetched.
		meet = meet || a.First < 0 && b.Last == n || b.First < 0 && a.Last == n
		if meet {
			err = c.RootErrorf(r, "want roots that are live together in different memory, got %s at %d to %d and %s at %d to %d",
				a.Name, a.Place.Off, a.Place.Off+a.Place.Bytes, b.Name, b.Place.Off, b.Place.Off+b.Place.Bytes)
		}
		return !meet
	})
	return err
}

// overlapping calls visit for every two roots that have bytes in common, until it returns false. Roots that
// no task touches have no memory.
func (c checker) overlapping(visit func(a, b region.Root) bool) {
	var order []region.Root
	for i := range c.Roots {
		if r := &c.Roots[i]; r.Place.Space == region.Arena && r.Place.Bytes > 0 && r.First <= r.Last {
			order = append(order, region.Root(i))
		}
	}
	slices.SortFunc(order, func(a, b region.Root) int { return cmp.Compare(c.Roots[a].Place.Off, c.Roots[b].Place.Off) })
	for i, a := range order {
		end := c.Roots[a].Place.Off + c.Roots[a].Place.Bytes
		for _, b := range order[i+1:] {
			if c.Roots[b].Place.Off >= end {
				break
			}
			if !visit(a, b) {
				return
			}
		}
	}
}
