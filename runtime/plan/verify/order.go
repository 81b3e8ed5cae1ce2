package verify

import (
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// before reports whether task a is over whenever task b begins.
func (q *queues) before(a, b int) bool {
	if q.worker[b] != shared {
		return q.over(a, q.clocks[b], q.worker[b], q.at[b])
	}
	k := q.number[b]
	for w, c := range q.shares[k] {
		if !q.over(a, c, w, q.places[k][w]) {
			return false
		}
	}
	return true
}

// over reports whether task a is over when worker w, at clock c, is at place i of its queue.
func (q *queues) over(a int, c *clock, w, i int) bool {
	switch q.worker[a] {
	case shared:
		return c.has(q.number[a]) || q.passed(q.number[a], c.passed, w, i)
	case w:
		return q.at[a] < i
	}
	return q.at[a] < c.passed[q.worker[a]]
}

// passed reports whether all workers have passed the shared task n when worker w is at place i of its queue:
// then all of its ranges are over.
func (q *queues) passed(n int, passed []int, w, i int) bool {
	for v, at := range q.places[n] {
		if v == w && at >= i || v != w && at >= passed[v] {
			return false
		}
	}
	return true
}

// unordered returns an error that says that a must be over before b begins.
func (q *queues) unordered(a, b int, why string) *plan.Error {
	e := q.TaskErrorf(b, "want the second task over before the first begins, since %s, got no such order", why)
	e.Other = q.Label(a)
	return e
}

// checkExplicit checks the order that Task.After and Deps ask for.
func (q *queues) checkExplicit() *plan.Error {
	if n := q.Deps.Len(); n != len(q.Tasks) {
		return q.Errorf("want dependencies of %d tasks, got those of %d", len(q.Tasks), n)
	}
	start, end := q.Deps.Start, int32(len(q.Deps.Pred))
	for b := range q.Tasks {
		if start[b] < 0 || start[b] > start[b+1] || start[b+1] > end {
			return q.TaskErrorf(b, "want predecessors at ascending positions up to %d, got %d to %d", end, start[b], start[b+1])
		}
		for _, a := range q.Tasks[b].After {
			if !q.before(a, b) {
				return q.unordered(a, b, "that is asked for")
			}
		}
		for _, a := range q.Deps.Preds(b) {
			if a < 0 || int(a) >= b {
				return q.TaskErrorf(b, "want predecessors before task %d, got task %d", b, a)
			}
			if !q.before(int(a), b) {
				return q.unordered(int(a), b, "it is a predecessor")
			}
		}
	}
	return nil
}

// use is an access of a task.
type use struct{ task, access int }

// access returns an access as one that decides about conflicts: reductions of floating-point
// numbers do not commute, bit for bit.
func (q *queues) access(u use) region.Access {
	a := q.Tasks[u.task].Access[u.access]
	if a.Perm == perm.Reduce && q.Roots[a.Root].Type.IsFloat() {
		a.Perm = perm.ReadWrite
	}
	return a
}

// conflict reports whether two accesses of one root must be ordered: they share an element, and neither are both
// reads nor both reductions with the same operator.
func conflict(a, b *region.Access) bool {
	for d := range a.Lo {
		if a.Hi[d] <= b.Lo[d] || b.Hi[d] <= a.Lo[d] {
			return false
		}
	}
	commute := a.Perm == perm.Read || a.Perm == perm.Reduce && a.Redop == b.Redop
	return a.Perm != b.Perm || !commute
}

// checkAccesses checks that, of one root, of every two accesses that conflict the first is over before
// the second begins. An access to the whole root that conflicts with all others ends what has to be
// looked at: what comes later must come after it, and so after what came before.
func (q *queues) checkAccesses() *plan.Error {
	type history struct{ readers, others []use }
	seen := make([]history, len(q.Roots))
	for t := range q.Tasks {
		for i := range q.Tasks[t].Access {
			a := q.access(use{t, i})
			if a.Empty() || a.Perm == perm.None {
				continue
			}
			h := &seen[a.Root]
			lists := [][]use{h.others, h.readers}
			if a.Perm == perm.Read {
				lists = lists[:1]
			}
			for _, list := range lists {
				for _, u := range list {
					b := q.access(u)
					if u.task != t && conflict(&a, &b) && !q.before(u.task, t) {
						common := a.Intersect(b.Box)
						return q.unordered(u.task, t, "they touch the same elements").At(q.Plan, t, i, &common)
					}
				}
			}
		}
		for i := range q.Tasks[t].Access {
			a := q.access(use{t, i})
			h := &seen[a.Root]
			switch {
			case a.Empty() || a.Perm == perm.None:
			case a.Perm == perm.Read:
				h.readers = append(h.readers, use{t, i})
			case a.Perm != perm.Reduce && q.covers(&a):
				*h = history{others: append(h.others[:0], use{t, i}), readers: h.readers[:0]}
			default:
				h.others = append(h.others, use{t, i})
			}
		}
	}
	return nil
}

// checkReuse checks that, where roots share bytes, all accesses of the one that lives earlier are over
// before those of the other begin.
func (q *queues) checkReuse() *plan.Error {
	uses := make([][]use, len(q.Roots))
	for t := range q.Tasks {
		for i := range q.Tasks[t].Access {
			a := q.access(use{t, i})
			if a.Empty() || a.Perm == perm.None || q.Roots[a.Root].Place.Space != region.Arena {
				continue
			}
			uses[a.Root] = append(uses[a.Root], use{t, i})
		}
	}
	var err *plan.Error
	q.overlapping(func(a, b region.Root) bool {
		if q.Roots[a].First > q.Roots[b].First {
			a, b = b, a
		}
		early, late := uses[a], uses[b]
		// An access at an end that conflicts with all others stands for them: checkAccesses has ordered
		// them.
		if n := len(early); n > 0 && q.dominates(early[n-1]) {
			early = early[n-1:]
		}
		if len(late) > 0 && q.dominates(late[0]) {
			late = late[:1]
		}
		for _, u := range early {
			for _, v := range late {
				if !q.before(u.task, v.task) {
					box := q.Tasks[v.task].Access[v.access].Box
					err = q.unordered(u.task, v.task, "memory of "+q.Roots[a].Name+" is used again").At(q.Plan, v.task, v.access, &box)
					return false
				}
			}
		}
		return true
	})
	return err
}

// dominates reports whether an access conflicts with every other of its root.
func (q *queues) dominates(u use) bool {
	a := q.access(u)
	return a.Perm != perm.Read && a.Perm != perm.Reduce && q.covers(&a)
}
