package verify

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/internal/intset"
	"github.com/opgen/opgen/runtime/internal/numbering"
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
	if err := c.checkNames(); err != nil {
		return err
	}
	return c.checkArena()
}

// checkNames checks that no other root has the name of one that the caller feeds or fetches: the caller tells
// them apart by name, and variables of one name are one memory.
func (c checker) checkNames() *plan.Error {
	names := numbering.New[string](len(c.Roots))
	uses := make([]plan.Use, 0, len(c.Roots)) // per name: of its first root
	for i := range c.Roots {
		r := &c.Roots[i]
		n, first := names.Add(r.Name)
		switch {
		case first:
			uses = append(uses, r.Use)
		case r.Use != plan.Internal || uses[n] != plan.Internal:
			return c.RootErrorf(region.Root(i), "want a name of its own for each tensor that the caller sees, got two of one name")
		}
	}
	return nil
}

// checkArena checks that the arena ends with a root on some device.
func (c checker) checkArena() *plan.Error {
	var end int64
	size := max(c.DeviceBytes(), 1)
	for i := range c.Roots {
		if r := &c.Roots[i]; r.Use != plan.Variable && r.First <= r.Last && r.Place.Bytes > 0 {
			end = max(end, (r.Place.Off+r.Place.Bytes-1)%size+1)
		}
	}
	if c.DeviceBytes()-end >= plan.Align {
		return c.Errorf("want an arena that ends with a tensor, got %d bytes, of which tensors take %d", c.DeviceBytes(), end)
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
	c.sweep(func(region.Root) bool { return true }, func(q, r region.Root) bool {
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

// edge is the first byte of a root, or the one behind its last.
type edge struct {
	at   int64
	rank int32 // of the root by First
	ends bool
}

// sweep goes through the arena by address, and calls visit for two roots that have bytes in common, until it
// returns false. At each byte at which a root begins or ends these are the roots that follow each other by
// First from there on, and the first and the last. If no two of them live together, no two roots of a byte
// do. Roots that no task touches have no memory, and others count only if some function says so.
func (c checker) sweep(counts func(region.Root) bool, visit func(a, b region.Root) bool) {
	var order []region.Root // by First
	for i := range c.Roots {
		if r := &c.Roots[i]; r.Place.Space == region.Arena && r.Place.Bytes > 0 && r.First <= r.Last && counts(region.Root(i)) {
			order = append(order, region.Root(i))
		}
	}
	slices.SortStableFunc(order, func(a, b region.Root) int { return cmp.Compare(c.Roots[a].First, c.Roots[b].First) })
	edges := make([]edge, 0, 2*len(order))
	for rank, r := range order {
		pl := &c.Roots[r].Place
		edges = append(edges, edge{pl.Off, int32(rank), false}, edge{pl.Off + pl.Bytes, int32(rank), true})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.ends != b.ends:
			if a.ends {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.rank, b.rank)
	})
	here := intset.New(len(order)) // ranks of the roots at the byte
	pair := func(a, b int) bool {
		return a == intset.None || b == intset.None || a == b || visit(order[a], order[b])
	}
	for _, e := range edges {
		rank := int(e.rank)
		if e.ends { // those before and after it follow each other now
			if here.Remove(rank); !pair(here.Below(rank), here.Above(rank)) {
				return
			}
			continue
		}
		here.Add(rank)
		if !pair(here.Below(rank), rank) || !pair(rank, here.Above(rank)) || !pair(here.Above(-1), here.Below(len(order))) {
			return
		}
	}
}
