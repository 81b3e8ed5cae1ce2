package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/internal/deps"
	"github.com/opgen/opgen/runtime/internal/intset"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// depend derives the dependencies of the plan's tasks from data hazards, from reuse of memory, and from
// Task.After. Lifetimes and places must be known.
func (p draft) depend() (*schedule.Graph, error) {
	b := deps.NewBuilder(len(p.Roots), len(p.Tasks))
	reuse := p.reuse()
	var acc []deps.Access
	var after []int
	var boxes []region.Box // of the accesses of a task
	for t := range p.Tasks {
		task := &p.Tasks[t]
		acc, after = acc[:0], append(after[:0], task.After...)
		boxes = slices.Grow(boxes[:0], len(task.Access))[:len(task.Access)]
		for i := range task.Access {
			a, box := &task.Access[i], &boxes[i]
			task.On(i, box)
			whole := p.whole(a.Root, box)
			acc = p.access(acc, a, box, whole)
			if first := reuse.first[a.Root]; first >= 0 {
				if first < t {
					after = append(after, first)
				}
				continue
			}
			n := len(acc)
			if acc = reuse.access(acc, a, box, whole); len(acc) > n && task.Tile > 0 {
				reuse.first[a.Root] = t
			}
		}
		if _, err := b.Task(acc, after...); err != nil {
			return nil, fmt.Errorf("plan %s, %s: %w", p.Name, p.Label(t), err)
		}
	}
	return b.Graph(), nil
}

// whole reports whether a box covers a root.
func (p draft) whole(r region.Root, box *region.Box) bool {
	for d, n := range p.Roots[r].Shape {
		if box.Lo[d] != 0 || box.Hi[d] != n {
			return false
		}
	}
	return true
}

// access appends an access for package deps; whole says that the box covers the root.
func (p draft) access(to []deps.Access, a *region.Access, box *region.Box, whole bool) []deps.Access {
	if box.Empty() {
		return to
	}
	d := deps.Access{Root: int32(a.Root), Perm: a.Perm}
	if !whole {
		d.Box = box
	}
	return append(to, d)
}

// reuse holds, for each root, the roots whose memory it reuses.
type reuse struct {
	before  [][]region.Root // by root
	settled []bool          // by root: whether later accesses are ordered already
	// first is, by root, a tile that is ordered after the earlier roots, and on which later tasks depend; or
	// -1. It avoids a quadratic number of dependencies between tiles.
	first []int
}

// reuse computes, for each root, the last owners of its memory. Roots whose lifetimes overlap are not
// counted: they share no memory.
func (p draft) reuse() *reuse {
	u := &reuse{make([][]region.Root, len(p.Roots)), make([]bool, len(p.Roots)), make([]int, len(p.Roots))}
	for r := range u.first {
		u.first[r] = -1
	}
	// A root without accesses imposes no order.
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
	o := p.owners(order)
	for _, r := range order {
		place := &p.Roots[r].Place
		o.take(place.Off, place.Off+place.Bytes, r, func(owner region.Root) {
			if p.Roots[owner].Last < p.Roots[r].First && !slices.Contains(u.before[r], owner) {
				u.before[r] = append(u.before[r], owner)
			}
		})
	}
	return u
}

// owners maps the bytes of the arena to their last owners. Intervals begin and end at boundaries of roots.
type owners struct {
	cuts   []int64 // boundaries of roots, ascending
	begins intset.Set
	end    []int32       // by first cut of an interval: its end
	owner  []region.Root // by first cut of an interval: its owner
}

// owners returns owners of an unused arena.
func (p draft) owners(roots []region.Root) *owners {
	o := &owners{}
	for _, r := range roots {
		place := &p.Roots[r].Place
		o.cuts = append(o.cuts, place.Off, place.Off+place.Bytes)
	}
	slices.Sort(o.cuts)
	o.cuts = slices.Compact(o.cuts)
	o.begins, o.end, o.owner = intset.New(len(o.cuts)), make([]int32, len(o.cuts)), make([]region.Root, len(o.cuts))
	return o
}

// take makes r the owner of bytes [lo, hi), and calls had with each previous owner, by address.
func (o *owners) take(lo, hi int64, r region.Root, had func(region.Root)) {
	from, _ := slices.BinarySearch(o.cuts, lo)
	to, _ := slices.BinarySearch(o.cuts, hi)
	for _, at := range []int{from, to} {
		o.split(at)
	}
	for i := o.begins.Above(from - 1); i != intset.None && i < to; i = o.begins.Above(i) {
		had(o.owner[i])
		o.begins.Remove(i)
	}
	o.set(from, to, r)
}

// split splits the interval that contains a cut.
func (o *owners) split(at int) {
	i := o.begins.Below(at)
	if i == intset.None || int(o.end[i]) <= at {
		return
	}
	o.set(at, int(o.end[i]), o.owner[i])
	o.end[i] = int32(at)
}

// set makes r the owner of the interval between two cuts.
func (o *owners) set(from, to int, r region.Root) {
	o.begins.Add(from)
	o.end[from], o.owner[from] = int32(to), r
}

// access appends dependencies on the previous owners of a root's memory. After an access that conflicts with
// all others of the root, later accesses need none: they depend on it.
func (u *reuse) access(to []deps.Access, a *region.Access, box *region.Box, whole bool) []deps.Access {
	if u.settled[a.Root] || a.Perm == perm.None || box.Empty() {
		return to
	}
	for _, r := range u.before[a.Root] {
		to = append(to, deps.Access{Root: int32(r), Retire: true})
	}
	u.settled[a.Root] = whole && (a.Perm.Writes() || a.Perm == perm.Scratch)
	return to
}
