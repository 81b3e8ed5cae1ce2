package verify

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// perm returns the permission of an access.
func (c checker) perm(u use) perm.Perm { return c.Tasks[u.task].Access[u.access].Perm }

// conflict reports whether two accesses of one element must be ordered: they are not both reads. Reductions
// are ordered, since a fold is no atomic operation.
func (c checker) conflict(u, v use) bool {
	p, q := c.perm(u), c.perm(v)
	return p != perm.None && q != perm.None && (p != perm.Read || q != perm.Read)
}

// checkAccesses checks that, of one root, of every two accesses that conflict the first is over before
// the second begins.
func (q *queues) checkAccesses() *plan.Error {
	h := &history{queues: q}
	for r, list := range q.uses() {
		if err := h.check(region.Root(r), list); err != nil {
			return err
		}
	}
	return nil
}

// history lists, for each cell of a root, the accesses that later ones must be compared to. One value serves
// all roots, one after the other.
type history struct {
	*queues
	cells
	heads []int32 // per cell
	links []link
	free  int32 // list of unused links
}

// link is an entry of the list of accesses to a cell.
type link struct {
	use
	next int32
}

const none = -1 // ends a list

// reset makes the lists of all cells empty.
func (x *history) reset() {
	x.heads = slices.Grow(x.heads[:0], x.count)[:x.count]
	for i := range x.heads {
		x.heads[i] = none
	}
	x.links, x.free = x.links[:0], none
}

// add adds an access to the list of a cell.
func (x *history) add(cell int, u use) {
	if x.free == none {
		x.links = append(x.links, link{u, x.heads[cell]})
		x.heads[cell] = int32(len(x.links) - 1)
		return
	}
	i := x.free
	x.free = x.links[i].next
	x.links[i] = link{u, x.heads[cell]}
	x.heads[cell] = i
}

// clear makes the list of a cell empty.
func (x *history) clear(cell int) {
	for x.heads[cell] != none {
		k := x.heads[cell]
		x.heads[cell], x.links[k].next, x.free = x.links[k].next, x.free, k
	}
}

// check is checkAccesses for one root. An access that conflicts with all others ends the list of a cell: what
// comes later must come after it, and so after what came before.
func (x *history) check(r region.Root, list []use) *plan.Error {
	err := x.divide(x.checker, r, list)
	if err != nil {
		return err
	}
	x.reset()
	lastWrite := none // the place in list behind which there are only reads, which nothing is compared to
	for i, u := range list {
		if p := x.perm(u); p != perm.Read && p != perm.None {
			lastWrite = i
		}
	}
	var box region.Box
	for i := 0; i < len(list); {
		t, from := list[i].task, i
		ordered := int32(none) // a task that was found to be over; neighboring cells list the same ones
		for ; i < len(list) && list[i].task == t; i++ {
			u := list[i]
			x.queues.box(int(t), int(u.access), &box)
			x.each(&box, func(cell int) {
				for k := x.heads[cell]; k != none && err == nil; k = x.links[k].next {
					v := x.links[k].use
					if v.task == t || v.task == ordered || !x.conflict(u, v) {
						continue
					}
					if ordered = v.task; !x.before(int(v.task), int(t)) {
						at := x.where(cell)
						err = x.unordered(int(v.task), int(t), "they touch the same elements").At(x.Plan, int(t), int(u.access), &at)
					}
				}
			})
			if err != nil {
				return err
			}
		}
		for k, u := range list[from:i] {
			p := x.perm(u)
			if p == perm.None || p == perm.Read && from+k > lastWrite {
				continue
			}
			x.queues.box(int(t), int(u.access), &box)
			x.each(&box, func(cell int) {
				if p != perm.Read {
					x.clear(cell)
				}
				x.add(cell, u)
			})
		}
	}
	return nil
}

// last holds the last accesses of a set: the last task in the queue of each worker, and shared tasks, each
// with the root that it accesses. A task comes after all accesses of the set if it comes after these.
type last struct {
	task   []entry // per worker; the task is none if it has none
	shared []entry
}

// entry is a task and a root that it accesses.
type entry struct {
	task int
	root region.Root
}

// reset makes the set empty.
func (l *last) reset() {
	for w := range l.task {
		l.task[w].task = none
	}
	l.shared = l.shared[:0]
}

// add adds the accesses to a root.
func (l *last) add(q *queues, r region.Root, list []use) {
	for _, u := range list {
		t := int(u.task)
		if q.perm(u) == perm.None {
			continue
		}
		switch w := q.worker[t]; {
		case w == shared:
			if n := len(l.shared); n == 0 || l.shared[n-1].task != t {
				l.shared = append(l.shared, entry{t, r})
			}
		case l.task[w].task == none || q.at[l.task[w].task] < q.at[t]:
			l.task[w] = entry{t, r}
		}
	}
}

// join adds the accesses of another set.
func (l *last) join(q *queues, other *last) {
	for w, e := range other.task {
		if e.task != none && (l.task[w].task == none || q.at[l.task[w].task] < q.at[e.task]) {
			l.task[w] = e
		}
	}
	l.shared = append(l.shared, other.shared...)
}

// succession says that a root lies in bytes in which another lay directly before it.
type succession struct{ root, before region.Root }

// successions returns the successions of the plan, by root. Roots that nothing accesses are left out, since
// they order nothing.
func (q *queues) successions(uses [][]use) []succession {
	var out []succession
	q.sweep(func(r region.Root) bool {
		return slices.ContainsFunc(uses[r], func(u use) bool { return q.perm(u) != perm.None })
	}, func(a, b region.Root) bool {
		out = append(out, succession{b, a})
		return true
	})
	slices.SortFunc(out, func(a, b succession) int { return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.before, b.before)) })
	return slices.Compact(out)
}

// manyUses is the number of accesses of a root from which its last ones are kept for all roots that come
// after it.
const manyUses = 16

// checkReuse checks that, where roots share bytes, all accesses of the one that lives earlier are over before
// those of the other begin. It suffices to check roots that follow each other directly, since each of them
// has an access.
func (q *queues) checkReuse() *plan.Error {
	uses := q.uses()
	known := map[region.Root]*last{}
	empty := func() *last { return &last{task: make([]entry, q.Schedule.Workers())} }
	all := empty()
	list := q.successions(uses)
	for i := 0; i < len(list); {
		root := list[i].root
		all.reset()
		for ; i < len(list) && list[i].root == root; i++ {
			before := list[i].before
			if len(uses[before]) < manyUses {
				all.add(q, before, uses[before])
				continue
			}
			l := known[before]
			if l == nil {
				l = empty()
				l.reset()
				l.add(q, before, uses[before])
				known[before] = l
			}
			all.join(q, l)
		}
		if err := q.checkAfter(all, uses[root]); err != nil {
			return err
		}
	}
	return nil
}

// checkAfter checks that the accesses to a root come after all of a set of accesses to the roots before it.
func (q *queues) checkAfter(all *last, list []use) *plan.Error {
	for _, v := range list {
		p := q.perm(v)
		if p == perm.None {
			continue
		}
		for _, entries := range [][]entry{all.task, all.shared} {
			for _, e := range entries {
				if e.task == none || q.before(e.task, int(v.task)) {
					continue
				}
				var box region.Box
				q.box(int(v.task), int(v.access), &box)
				return q.unordered(e.task, int(v.task), "memory of "+q.Roots[e.root].Name+" is used again").At(q.Plan, int(v.task), int(v.access), &box)
			}
		}
		// A later access conflicts with it, and checkAccesses has ordered the two.
		if p != perm.Read && q.Tasks[v.task].Tile == 0 && q.whole(v) {
			return nil
		}
	}
	return nil
}

// whole reports whether an access touches all elements of its root.
func (q *queues) whole(u use) bool {
	var box region.Box
	q.box(int(u.task), int(u.access), &box)
	for d, n := range q.Roots[q.Tasks[u.task].Access[u.access].Root].Shape {
		if box.Lo[d] > 0 || box.Hi[d] < n {
			return false
		}
	}
	return true
}
