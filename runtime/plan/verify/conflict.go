package verify

import (
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// perm returns the permission of an access.
func (c checker) perm(u use) perm.Perm { return c.Tasks[u.task].Access[u.access].Perm }

// conflict reports whether two accesses of one element must be ordered: they are not both reads. Reductions are
// ordered, since a fold is no atomic operation.
func (c checker) conflict(u, v use) bool {
	p, q := c.perm(u), c.perm(v)
	return p != perm.None && q != perm.None && (p != perm.Read || q != perm.Read)
}

// checkAccesses checks that, of one root, of every two accesses that conflict the first is over before
// the second begins.
func (q *queues) checkAccesses() *plan.Error {
	for r, list := range q.uses() {
		if err := q.checkRootAccesses(region.Root(r), list); err != nil {
			return err
		}
	}
	return nil
}

// link is an entry of the list of accesses to a cell.
type link struct {
	use
	next int32
}

const none = -1 // ends a list

// checkRootAccesses is checkAccesses for one root. A cell lists the accesses that later ones must be compared
// to. An access that conflicts with all others ends the list: what comes later must come after it, and so
// after what came before.
func (q *queues) checkRootAccesses(r region.Root, list []use) *plan.Error {
	x, err := q.cells(r, list)
	if err != nil {
		return err
	}
	lastWrite := none // the place in list behind which there are only reads, which nothing is compared to
	for i, u := range list {
		if p := q.perm(u); p != perm.Read && p != perm.None {
			lastWrite = i
		}
	}
	heads := make([]int32, x.count)
	for i := range heads {
		heads[i] = none
	}
	var links []link
	free := int32(none)
	add := func(cell int, u use) {
		if free == none {
			links = append(links, link{u, heads[cell]})
			heads[cell] = int32(len(links) - 1)
			return
		}
		i := free
		free = links[i].next
		links[i] = link{u, heads[cell]}
		heads[cell] = i
	}
	var box region.Box
	for i := 0; i < len(list); {
		t, from := list[i].task, i
		ordered := int32(none) // a task that was found to be over; neighboring cells list the same ones
		for ; i < len(list) && list[i].task == t; i++ {
			u := list[i]
			q.box(int(t), int(u.access), &box)
			x.each(&box, func(cell int) {
				for k := heads[cell]; k != none && err == nil; k = links[k].next {
					v := links[k].use
					if v.task == t || v.task == ordered || !q.conflict(u, v) {
						continue
					}
					if ordered = v.task; !q.before(int(v.task), int(t)) {
						at := x.where(cell)
						err = q.unordered(int(v.task), int(t), "they touch the same elements").At(q.Plan, int(t), int(u.access), &at)
					}
				}
			})
			if err != nil {
				return err
			}
		}
		for k, u := range list[from:i] {
			p := q.perm(u)
			if p == perm.None || p == perm.Read && from+k > lastWrite {
				continue
			}
			q.box(int(t), int(u.access), &box)
			x.each(&box, func(cell int) {
				if p != perm.Read {
					for heads[cell] != none {
						k := heads[cell]
						heads[cell], links[k].next, free = links[k].next, free, k
					}
				}
				add(cell, u)
			})
		}
	}
	return nil
}

// last holds the last accesses of a set: the last place in the queue of each worker, and shared tasks. A task
// comes after all accesses of the set if it comes after these.
type last struct {
	task   []int // per worker; none if it has none
	shared []int
}

// last returns the last accesses to a root.
func (q *queues) last(list []use) last {
	out := last{task: make([]int, q.Schedule.Workers())}
	for w := range out.task {
		out.task[w] = none
	}
	for _, u := range list {
		t := int(u.task)
		if q.perm(u) == perm.None {
			continue
		}
		switch w := q.worker[t]; {
		case w == shared:
			if n := len(out.shared); n == 0 || out.shared[n-1] != t {
				out.shared = append(out.shared, t)
			}
		case out.task[w] == none || q.at[out.task[w]] < q.at[t]:
			out.task[w] = t
		}
	}
	return out
}

// checkReuse checks that, where roots share bytes, all accesses of the one that lives earlier are over
// before those of the other begin.
func (q *queues) checkReuse() *plan.Error {
	uses := q.uses()
	lasts := map[region.Root]last{}
	var err *plan.Error
	q.overlapping(func(a, b region.Root) bool {
		if q.Roots[a].First > q.Roots[b].First {
			a, b = b, a
		}
		early, ok := lasts[a]
		if !ok {
			early = q.last(uses[a])
			lasts[a] = early
		}
		for _, v := range uses[b] {
			if q.perm(v) == perm.None {
				continue
			}
			for _, tasks := range [][]int{early.task, early.shared} {
				for _, t := range tasks {
					if t == none || q.before(t, int(v.task)) {
						continue
					}
					var box region.Box
					q.box(int(v.task), int(v.access), &box)
					err = q.unordered(t, int(v.task), "memory of "+q.Roots[a].Name+" is used again").At(q.Plan, int(v.task), int(v.access), &box)
					return false
				}
			}
			// A later access conflicts with it, and checkAccesses has ordered the two.
			if p := q.perm(v); p != perm.Read && q.Tasks[v.task].Tile == 0 && q.whole(v) {
				break
			}
		}
		return true
	})
	return err
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
