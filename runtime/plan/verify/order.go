package verify

import "github.com/opgen/opgen/runtime/plan"

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
