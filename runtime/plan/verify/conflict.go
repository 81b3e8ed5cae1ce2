package verify

import (
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
