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
	"github.com/opgen/opgen/runtime/shape"
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
			acc = reuse.access(acc, t, i, box, whole)
		}
		if _, err := b.Task(acc, reuse.after(after, t)...); err != nil {
			return nil, fmt.Errorf("plan %s, %s: %w", p.Name, p.Label(t), err)
		}
		reuse.note(t, len(b.Last()))
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

// reuse finds the tasks that touch memory for which later roots have a use.
type reuse struct {
	draft
	before [][]region.Root // by root: the last owners of its memory
	parts  []bool          // by root: whether tasks touch parts of it
	fresh  []fresh         // by root
}

// fresh says which accesses of a root are the first ones to its memory. Once all elements were written, later
// accesses come after those writes, and so after what had the memory before.
type fresh struct {
	settled bool
	call    int   // number of a call, and of
	step    int   // a step, and of an access of it, whose tiles write the root
	access  int   //
	left    int   // elements that tiles to come write
	many    bool  // whether the next tile comes after all accesses to the owners before
	first   int32 // this tile, on which later ones depend, or -1
}

// manyBefore is the number of predecessors of a tile from which on the next tiles of its step depend on one
// of them that comes after all accesses to memory which they use again. It avoids a quadratic number of
// dependencies between tiles.
const manyBefore = 256

// reuse computes, for each root, the last owners of its memory. Roots whose lifetimes overlap are not
// counted: they share no memory. An owner of which tasks leave elements untouched has its own owners beside
// it.
func (p draft) reuse() *reuse {
	u := &reuse{p, make([][]region.Root, len(p.Roots)), make([]bool, len(p.Roots)), make([]fresh, len(p.Roots))}
	// A root without accesses imposes no order.
	touched, covered := make([]bool, len(p.Roots)), make([]bool, len(p.Roots))
	var box region.Box
	for t := range p.Tasks {
		task := &p.Tasks[t]
		for i := range task.Access {
			a := &task.Access[i]
			if a.Perm == perm.None || a.Empty() {
				continue
			}
			touched[a.Root] = true
			task.On(i, &box)
			whole := p.whole(a.Root, &box)
			covered[a.Root] = covered[a.Root] || u.covers(t, i, &box, whole)
			u.parts[a.Root] = u.parts[a.Root] || !whole
		}
	}
	for r := range u.fresh {
		u.fresh[r] = fresh{first: -1}
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
		for i := 0; i < len(u.before[r]); i++ {
			owner := u.before[r][i]
			if covered[owner] {
				continue
			}
			for _, q := range u.before[owner] {
				if p.Roots[q].Place.Overlaps(*place) && !slices.Contains(u.before[r], q) {
					u.before[r] = append(u.before[r], q)
				}
			}
		}
	}
	return u
}

// covers reports whether an access is the last one of a step, all tiles of which touch all of the root
// together, each its own elements. It counts the elements that are left.
func (u *reuse) covers(t, i int, box *region.Box, whole bool) bool {
	task := &u.Tasks[t]
	a := &task.Access[i]
	f := &u.fresh[a.Root]
	if whole || task.Tile == 0 {
		return whole
	}
	if f.left == 0 || f.call != task.Call || f.step != task.Step || f.access != i {
		if g := task.Grid(); task.Tile > 1 || !a.Footprint.Disjoint(&g) {
			return false
		}
		f.call, f.step, f.access, f.left = task.Call, task.Step, i, shape.Prod(u.Roots[a.Root].Shape)
	}
	f.left -= box.Volume()
	return f.left == 0
}

// after appends the tiles on which a task depends, since they come after the earlier owners of memory.
func (u *reuse) after(to []int, t int) []int {
	for i := range u.Tasks[t].Access {
		if first := int(u.fresh[u.Tasks[t].Access[i].Root].first); first >= 0 && first < t {
			to = append(to, first)
		}
	}
	return to
}

// note notes how many predecessors a task has.
func (u *reuse) note(t, preds int) {
	task := &u.Tasks[t]
	if preds < manyBefore || task.Tile == 0 {
		return
	}
	for i := range task.Access {
		r := task.Access[i].Root
		f := &u.fresh[r]
		f.many = f.many || !f.settled && len(u.before[r]) > 0
	}
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

// access appends dependencies on the earlier owners of the memory of access i of task t: on what touches the
// same bytes of theirs. After all elements of the root were written, later accesses need none: they come
// after those writes.
func (u *reuse) access(to []deps.Access, t, i int, box *region.Box, whole bool) []deps.Access {
	task := &u.Tasks[t]
	a := &task.Access[i]
	f, before := &u.fresh[a.Root], u.before[a.Root]
	if len(before) == 0 || f.settled || f.first >= 0 || a.Perm == perm.None || box.Empty() {
		return to
	}
	if f.many {
		f.first = int32(t)
	}
	for _, r := range before {
		d := deps.Access{Root: int32(r), Retire: true}
		if (!whole || u.parts[r]) && !f.many {
			mine, theirs := u.layout(a.Root), u.layout(r)
			under := mine.Under(box, theirs)
			if under.Empty() || !mine.Meets(box, theirs, &under) {
				continue
			}
			if u.parts[r] {
				d.Box = &under
				d.Meets = func(other *region.Box) bool { return mine.Meets(box, theirs, other) }
			}
		}
		to = append(to, d)
	}
	f.settled = (a.Perm.Writes() || a.Perm == perm.Scratch) && u.covers(t, i, box, whole)
	return to
}

// layout returns where the elements of a root lie.
func (p draft) layout(r region.Root) *region.Layout {
	root := &p.Roots[r]
	return &region.Layout{Off: root.Place.Off, Elem: root.Type.Size(), Shape: root.Shape}
}
