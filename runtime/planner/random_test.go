package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// randomPlan returns a plan, not yet scheduled, of arbitrary tasks: they read, write and
// reduce into parts of roots of integers and floating-point numbers, in place or not, and some roots
// are fed, fetched or variables. Memory is reused as placing does it. times are such that some tasks
// are worth sharing and others are not.
func randomPlan(r *rand.Rand, tasks int) (p *plan.Plan, times []float64) {
	p = &plan.Plan{Format: plan.Format, Name: "random"}
	for i := range 2 + r.IntN(8) + r.IntN(tasks) {
		root := plan.Root{Name: fmt.Sprint("r", i), Type: [2]dtype.Type{dtype.F32, dtype.I32}[r.IntN(2)], Shape: []int{1 + r.IntN(6)}}
		if r.IntN(2) == 0 {
			root.Shape = append(root.Shape, 1+r.IntN(5))
		}
		root.Use = [...]plan.Use{plan.Internal, plan.Internal, plan.Internal, plan.Internal, plan.Fed, plan.Variable}[r.IntN(6)]
		if root.Use == plan.Variable {
			root.Place.Space = region.Variable
		}
		root.Place.Bytes = root.Operand().Bytes()
		p.Roots = append(p.Roots, root)
	}
	unset := newUnset(p)
	// Tasks move from root to root, so that those before become free.
	for t := range 1 + r.IntN(tasks) {
		task := plan.Task{Call: -1, Builtin: &plan.Builtin{Op: fmt.Sprint("op", t)}}
		near := t * len(p.Roots) / tasks
		for range 1 + r.IntN(4) {
			root := region.Root((near + r.IntN(4)) % len(p.Roots))
			a := region.Access{Region: part(r, root, p.Roots[root].Shape), Perm: perm.Perm(1 + r.IntN(5))}
			if a.Perm == perm.Reduce {
				a.Redop = perm.Sum
			}
			if a.Perm == perm.Scratch && p.Roots[root].Use != plan.Internal {
				a.Perm = perm.Read
			}
			if _, missing := unset.reads(&a); missing {
				a.Perm, a.Redop = perm.Write, perm.NoRedop
			}
			task.Access = append(task.Access, a)
		}
		for i := range task.Access {
			unset.note(&task.Access[i])
		}
		if t > 0 && r.IntN(8) == 0 {
			task.After = []int{r.IntN(t)}
		}
		for _, a := range task.Access {
			task.Over = max(task.Over, a.Volume())
		}
		task.Over = max(task.Over, 1)
		task.Grain = 1 + r.IntN(2)
		if selfConflict(task.Access) {
			task.Grain = task.Over
		}
		p.Tasks = append(p.Tasks, task)
		times = append(times, []float64{10, 1e3, 1e5}[r.IntN(3)]*(1+r.Float64()))
	}
	var fetched []region.Root
	for i := range p.Roots {
		if p.Roots[i].Use == plan.Internal && len(unset[i]) == 0 && r.IntN(3) == 0 {
			p.Roots[i].Use = plan.Fetched
			fetched = append(fetched, region.Root(i))
		}
	}
	draft{p}.lifetimes(fetched)
	draft{p}.place()
	return p, times
}

// part returns a random region of a root: often all of it, sometimes nothing.
func part(r *rand.Rand, root region.Root, shape []int) region.Region {
	reg := region.Whole(root, shape)
	if r.IntN(2) == 0 {
		return reg
	}
	for d, n := range shape {
		reg.Lo[d] = r.IntN(n)
		reg.Hi[d] = reg.Lo[d] + 1 + r.IntN(n-reg.Lo[d])
		if r.IntN(20) == 0 {
			reg.Hi[d] = reg.Lo[d]
		}
	}
	return reg
}

// selfConflict reports whether accesses of one task touch the same elements, so that its ranges must
// not run side by side.
func selfConflict(list []region.Access) bool {
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Overlaps(b.Region) && (a.Perm != perm.Read || b.Perm != perm.Read) {
				return true
			}
		}
	}
	return false
}

// unset holds, per root, the boxes that no task has written.
type unset [][]region.Box

func newUnset(p *plan.Plan) unset {
	u := make(unset, len(p.Roots))
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Use == plan.Internal || r.Use == plan.Fetched {
			if w := region.Whole(region.Root(i), r.Shape); !w.Empty() {
				u[i] = []region.Box{w.Box}
			}
		}
	}
	return u
}

// reads returns indices that an access needs and that nothing has written, if there are any.
func (u unset) reads(a *region.Access) (region.Box, bool) {
	if !a.Perm.Reads() && a.Perm != perm.Reduce {
		return region.Box{}, false
	}
	for _, b := range u[a.Root] {
		if c := b.Intersect(a.Box); !c.Empty() {
			return c, true
		}
	}
	return region.Box{}, false
}

// note takes account of what an access writes, or leaves undefined.
func (u unset) note(a *region.Access) {
	if len(u[a.Root]) == 0 && a.Perm != perm.Scratch || !a.Perm.Writes() && a.Perm != perm.Scratch || a.Empty() {
		return
	}
	box := a.Box
	var left []region.Box
	for _, b := range u[a.Root] {
		left = subtract(left, b, box)
	}
	if a.Perm == perm.Scratch {
		left = append(left, box)
	}
	u[a.Root] = left
}

// subtract appends boxes that hold the indices of b that are not in c.
func subtract(to []region.Box, b, c region.Box) []region.Box {
	if b.Intersect(c).Empty() {
		return append(to, b)
	}
	for d := range b.Lo {
		for _, side := range [2][2]int{{b.Lo[d], c.Lo[d]}, {c.Hi[d], b.Hi[d]}} {
			if side[0] >= side[1] {
				continue
			}
			cut := region.Box{Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}
			cut.Lo[d], cut.Hi[d] = side[0], side[1]
			to = append(to, cut)
		}
		b = region.Box{Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}
		b.Lo[d], b.Hi[d] = max(b.Lo[d], c.Lo[d]), min(b.Hi[d], c.Hi[d])
	}
	return to
}
