package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/internal/deps"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// depend derives the dependencies of the plan's tasks from their accesses, from the reuse of memory
// and from what is explicit. It expects roots to have lifetimes and places.
func (p draft) depend() (*schedule.Graph, error) {
	b := deps.NewBuilder(len(p.Roots), len(p.Tasks))
	reuse := p.reuse()
	var acc []deps.Access
	for t := range p.Tasks {
		task := &p.Tasks[t]
		acc = acc[:0]
		for i := range task.Access {
			a := &task.Access[i]
			acc = p.access(acc, a)
			acc = reuse.access(acc, a, p.whole(a))
		}
		if _, err := b.Task(acc, task.After...); err != nil {
			return nil, fmt.Errorf("plan %s, %s: %w", p.Name, p.Label(t), err)
		}
	}
	return b.Graph(), nil
}

// whole reports whether an access covers its root.
func (p draft) whole(a *region.Access) bool {
	for d, n := range p.Roots[a.Root].Shape {
		if a.Lo[d] != 0 || a.Hi[d] != n {
			return false
		}
	}
	return true
}

// access appends an access as package deps takes it. Sums of floating-point numbers depend on their
// order, so reductions of those do not commute here.
func (p draft) access(to []deps.Access, a *region.Access) []deps.Access {
	if a.Empty() {
		return to
	}
	d := deps.Access{Root: int32(a.Root), Perm: a.Perm, Redop: a.Redop}
	if a.Perm == perm.Reduce && !p.commutes(a.Root) {
		d.Perm, d.Redop = perm.ReadWrite, perm.NoRedop
	}
	if !p.whole(a) {
		d.Box = &a.Box
	}
	return append(to, d)
}

// commutes reports whether the order of reductions into a root leaves no trace.
func (p draft) commutes(r region.Root) bool { return !p.Roots[r].Type.IsFloat() }

// reuse knows which roots had memory of the arena before other roots.
type reuse struct {
	before  [][]region.Root // per root
	settled []bool          // per root: a task that all later accesses depend on comes after those before
}

// reuse finds out which roots lie, directly before each other root, in some of its memory. Roots whose
// lifetimes meet are left out: they must not share memory in the first place.
func (p draft) reuse() *reuse {
	u := &reuse{make([][]region.Root, len(p.Roots)), make([]bool, len(p.Roots))}
	// A root of which tasks touch no element cannot stand between others.
	touched := make([]bool, len(p.Roots))
	for t := range p.Tasks {
		for i := range p.Tasks[t].Access {
			a := &p.Tasks[t].Access[i]
			touched[a.Root] = touched[a.Root] || a.Perm != perm.None && !a.Empty()
		}
	}
	var order []region.Root
	for i := range p.Roots {
		if r := &p.Roots[i]; touched[i] && r.Place.Space == region.Arena && r.Place.Bytes > 0 && r.First <= r.Last {
			order = append(order, region.Root(i))
		}
	}
	slices.SortStableFunc(order, func(a, b region.Root) int { return cmp.Compare(p.Roots[a].First, p.Roots[b].First) })
	type interval struct {
		lo, hi int64
		owner  region.Root
	}
	var owners []interval // of all bytes used so far, by address
	for _, r := range order {
		lo, hi := p.Roots[r].Place.Off, p.Roots[r].Place.Off+p.Roots[r].Place.Bytes
		from, _ := slices.BinarySearchFunc(owners, lo, func(v interval, lo int64) int {
			if v.hi <= lo {
				return -1
			}
			return 1
		})
		var kept []interval
		to := from
		for ; to < len(owners) && owners[to].lo < hi; to++ {
			v := owners[to]
			if v.lo < lo {
				kept = append(kept, interval{v.lo, lo, v.owner})
			}
			if p.Roots[v.owner].Last < p.Roots[r].First && !slices.Contains(u.before[r], v.owner) {
				u.before[r] = append(u.before[r], v.owner)
			}
			if v.hi > hi {
				kept = append(kept, interval{lo, hi, r}, interval{hi, v.hi, v.owner})
			}
		}
		if n := len(kept); n == 0 || kept[n-1].hi <= lo {
			kept = append(kept, interval{lo, hi, r})
		}
		owners = slices.Replace(owners, from, to, kept...)
	}
	return u
}

// access appends what must be over before an access of a root. If the access conflicts with all others
// of the root, later ones come after it anyway.
func (u *reuse) access(to []deps.Access, a *region.Access, whole bool) []deps.Access {
	if u.settled[a.Root] || a.Perm == perm.None || a.Empty() {
		return to
	}
	for _, r := range u.before[a.Root] {
		to = append(to, deps.Access{Root: int32(r), Retire: true})
	}
	u.settled[a.Root] = whole && (a.Perm == perm.Write || a.Perm == perm.ReadWrite || a.Perm == perm.Scratch)
	return to
}
