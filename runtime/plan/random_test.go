package plan

import (
	"fmt"
	"math/rand/v2"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
)

// randomPlan returns a plan, not yet scheduled, of tasks that stand for anything: they read, write and
// reduce into parts of roots of integers and floating-point numbers, in place or not, and some roots
// are fed, fetched or variables. Memory is reused as placing does it. times are such that some tasks
// are worth sharing and others are not.
func randomPlan(r *rand.Rand, tasks int) (p *Plan, times []float64) {
	p = &Plan{Format: Format, Name: "random"}
	for i := range 2 + r.IntN(8) + r.IntN(tasks) {
		root := Root{Name: fmt.Sprint("r", i), Type: [2]dtype.Type{dtype.F32, dtype.I32}[r.IntN(2)], Shape: []int{1 + r.IntN(6)}}
		if r.IntN(2) == 0 {
			root.Shape = append(root.Shape, 1+r.IntN(5))
		}
		root.Use = [...]Use{Internal, Internal, Internal, Internal, Fed, Variable}[r.IntN(6)]
		if root.Use == Variable {
			root.Place.Space = region.Variable
		}
		root.Place.Bytes = root.Operand().Bytes()
		p.Roots = append(p.Roots, root)
	}
	unset := p.unset()
	// Tasks move from root to root, so that those before become free.
	for t := range 1 + r.IntN(tasks) {
		task := Task{Call: -1, Builtin: &Builtin{Op: fmt.Sprint("op", t)}}
		near := t * len(p.Roots) / tasks
		for range 1 + r.IntN(4) {
			root := region.Root((near + r.IntN(4)) % len(p.Roots))
			a := region.Access{Region: part(r, root, p.Roots[root].Shape), Perm: perm.Perm(1 + r.IntN(5))}
			if a.Perm == perm.Reduce {
				a.Redop = perm.Sum
			}
			if a.Perm == perm.Scratch && p.Roots[root].Use != Internal {
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
			task.Over = max(task.Over, region.Box{Lo: a.Lo, Hi: a.Hi}.Volume())
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
		if p.Roots[i].Use == Internal && len(unset[i]) == 0 && r.IntN(3) == 0 {
			p.Roots[i].Use = Fetched
			fetched = append(fetched, region.Root(i))
		}
	}
	p.lifetimes(fetched)
	place(p)
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
