package plan

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
)

// knowledge is what a worker knows to be over: a vector clock. It is not changed once made.
type knowledge struct {
	clock []int // per worker: how many entries at the front of its queue are over
	// Shared tasks, by number: all below upto, and those of more, which ascends.
	upto int
	more []int
}

// has reports whether a shared task is known to be over.
func (k *knowledge) has(n int) bool {
	if n < k.upto {
		return true
	}
	_, ok := slices.BinarySearch(k.more, n)
	return ok
}

// with returns what is known after the shared task n is over, too.
func (k *knowledge) with(n int) *knowledge {
	return k.join(&knowledge{clock: make([]int, len(k.clock)), more: []int{n}})
}

// join returns what one or the other knows.
func (k *knowledge) join(l *knowledge) *knowledge {
	out := &knowledge{clock: slices.Clone(k.clock), upto: max(k.upto, l.upto)}
	for w, at := range l.clock {
		out.clock[w] = max(out.clock[w], at)
	}
	all := slices.Concat(k.more, l.more)
	slices.Sort(all)
	for _, n := range slices.Compact(all) {
		switch {
		case n == out.upto:
			out.upto++
		case n > out.upto:
			out.more = append(out.more, n)
		}
	}
	return out
}

// meet returns what both know.
func (k *knowledge) meet(l *knowledge) *knowledge {
	out := &knowledge{clock: slices.Clone(k.clock), upto: min(k.upto, l.upto)}
	for w, at := range l.clock {
		out.clock[w] = min(out.clock[w], at)
	}
	for n := out.upto; n < max(k.upto, l.upto); n++ {
		if k.has(n) && l.has(n) {
			out.more = append(out.more, n)
		}
	}
	for _, n := range k.more {
		if n >= max(k.upto, l.upto) && l.has(n) {
			out.more = append(out.more, n)
		}
	}
	return out
}

// run goes through all queues and finds out what workers know when each task begins. It fails if a
// queue waits for ever.
func (q *queues) run() *Error {
	s := &q.Schedule
	W := s.Workers()
	now := make([]*knowledge, W)
	at := make([]int, W)
	type signal struct {
		at   int
		told *knowledge
	}
	signals := make([][]signal, W)
	came := make([]int, len(s.Shared))
	for w := range now {
		now[w] = &knowledge{clock: make([]int, W)}
	}
	// tell returns what worker w knows, its own queue up to position i included.
	tell := func(w, i int) *knowledge {
		k := *now[w]
		k.clock = slices.Clone(k.clock)
		k.clock[w] = i
		return &k
	}
	step := func(w int) bool {
		i := at[w]
		switch kind, n := s.Queues[w][i].Decode(); kind {
		case sched.Run:
			q.state[n] = now[w]
		case sched.Share:
			k := q.number[n]
			told := tell(w, i)
			for n := told.upto; n < len(s.Shared); n++ {
				if !told.has(n) && q.passed(n, told.clock, w, i) {
					told = told.with(n)
				}
			}
			q.shares[k][w] = told
			came[k]++
		case sched.Signal:
			signals[w] = append(signals[w], signal{i + 1, tell(w, i)})
		case sched.WaitFor:
			// The first signal at or behind the position ends the wait.
			wait := s.Waits[n]
			list := signals[wait.Worker]
			j, _ := slices.BinarySearchFunc(list, int(wait.Position), func(x signal, pos int) int { return cmp.Compare(x.at, pos) })
			switch {
			case wait.Position <= 0: // nothing to wait for
			case j == len(list):
				return false
			default:
				now[w] = now[w].join(list[j].told)
			}
		case sched.WaitShared:
			k := q.number[n]
			if came[k] < W {
				return false
			}
			all := q.shares[k][0]
			for _, other := range q.shares[k][1:] {
				all = all.meet(other)
			}
			now[w] = now[w].join(all.with(k))
		}
		at[w]++
		return true
	}
	for moved := true; moved; {
		moved = false
		for w := range W {
			for at[w] < len(s.Queues[w]) && step(w) {
				moved = true
			}
		}
	}
	for w := range W {
		if i := at[w]; i < len(s.Queues[w]) {
			kind, n := s.Queues[w][i].Decode()
			if kind == sched.WaitShared {
				return q.faultOf(n, "want queues that come to their ends, got worker %d waiting at %d for a shared task that some worker cannot come to", w, i)
			}
			return q.fault("want queues that come to their ends, got worker %d waiting at %d for position %d of worker %d", w, i, s.Waits[n].Position, s.Waits[n].Worker)
		}
	}
	return nil
}

// before reports whether task a is over whenever task b begins.
func (q *queues) before(a, b int) bool {
	if q.worker[b] != shared {
		return q.known(a, q.state[b], q.worker[b], q.at[b])
	}
	k := q.number[b]
	for w, state := range q.shares[k] {
		if !q.known(a, state, w, q.places[k][w]) {
			return false
		}
	}
	return true
}

// known reports whether worker w, which knows state at place i of its queue, knows that a is over.
func (q *queues) known(a int, state *knowledge, w, i int) bool {
	switch q.worker[a] {
	case shared:
		return state.has(q.number[a]) || q.passed(q.number[a], state.clock, w, i)
	case w:
		return q.at[a] < i
	}
	return q.at[a] < state.clock[q.worker[a]]
}

// passed reports whether worker w, at place i of its queue, knows from its clock that all workers are done
// with the shared task n: then all of its ranges are over.
func (q *queues) passed(n int, clock []int, w, i int) bool {
	for v, at := range q.places[n] {
		if v == w && at >= i || v != w && at >= clock[v] {
			return false
		}
	}
	return true
}

// unordered returns an error that says that a must be over before b begins.
func (q *queues) unordered(a, b int, why string) *Error {
	e := q.faultOf(b, "want the second task over before the first begins, since %s, got no such order", why)
	e.Other = q.Label(a)
	return e
}

// checkExplicit checks the order that Task.After and Deps ask for.
func (q *queues) checkExplicit() *Error {
	if n := q.Deps.Len(); n != len(q.Tasks) {
		return q.fault("want dependencies of %d tasks, got those of %d", len(q.Tasks), n)
	}
	start, end := q.Deps.Start, int32(len(q.Deps.Pred))
	for b := range q.Tasks {
		if start[b] < 0 || start[b] > start[b+1] || start[b+1] > end {
			return q.faultOf(b, "want predecessors at ascending positions up to %d, got %d to %d", end, start[b], start[b+1])
		}
		for _, a := range q.Tasks[b].After {
			if !q.before(a, b) {
				return q.unordered(a, b, "that is asked for")
			}
		}
		for _, a := range q.Deps.Preds(b) {
			if a < 0 || int(a) >= b {
				return q.faultOf(b, "want predecessors before task %d, got task %d", b, a)
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

// checkAccesses checks that, of one root, of every two accesses that conflict the first is over before
// the second begins. An access to the whole root that conflicts with all others ends what has to be
// looked at: what comes later must come after it, and so after what came before.
func (q *queues) checkAccesses() *Error {
	type history struct{ readers, others []use }
	seen := make([]history, len(q.Roots))
	for t := range q.Tasks {
		for i := range q.Tasks[t].Access {
			a := q.conflicting(use{t, i})
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
					b := q.conflicting(u)
					if u.task != t && a.Conflicts(b) && !q.before(u.task, t) {
						common := region.Box{Lo: a.Lo, Hi: a.Hi}.Intersect(region.Box{Lo: b.Lo, Hi: b.Hi})
						return q.about(q.unordered(u.task, t, "they touch the same elements"), t, i, common)
					}
				}
			}
		}
		for i := range q.Tasks[t].Access {
			a := q.conflicting(use{t, i})
			h := &seen[a.Root]
			switch {
			case a.Empty() || a.Perm == perm.None:
			case a.Perm == perm.Read:
				h.readers = append(h.readers, use{t, i})
			case a.Perm != perm.Reduce && q.whole(&a):
				*h = history{others: append(h.others[:0], use{t, i}), readers: h.readers[:0]}
			default:
				h.others = append(h.others, use{t, i})
			}
		}
	}
	return nil
}

// conflicting returns an access as one that decides about conflicts: reductions of floating-point
// numbers do not commute, bit for bit.
func (q *queues) conflicting(u use) region.Access {
	a := q.Tasks[u.task].Access[u.access]
	if a.Perm == perm.Reduce && q.Roots[a.Root].Type.IsFloat() {
		a.Perm = perm.ReadWrite
	}
	return a
}

// checkReuse checks that, where roots share bytes, all accesses of the one that lives earlier are over
// before those of the other begin.
func (q *queues) checkReuse() *Error {
	uses := make([][]use, len(q.Roots))
	for t := range q.Tasks {
		for i := range q.Tasks[t].Access {
			a := q.conflicting(use{t, i})
			if a.Empty() || a.Perm == perm.None || q.Roots[a.Root].Place.Space != region.Arena {
				continue
			}
			uses[a.Root] = append(uses[a.Root], use{t, i})
		}
	}
	var err *Error
	q.sharing(func(a, b region.Root) bool {
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
					access := q.Tasks[v.task].Access[v.access]
					err = q.about(q.unordered(u.task, v.task, "memory of "+q.Roots[a].Name+" is used again"), v.task, v.access, region.Box{Lo: access.Lo, Hi: access.Hi})
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
	a := q.conflicting(u)
	return a.Perm != perm.Read && a.Perm != perm.Reduce && q.whole(&a)
}

// sharing calls visit for every two roots that have bytes in common, until it returns false. Roots that
// no task touches have no memory.
func (p *Plan) sharing(visit func(a, b region.Root) bool) {
	var order []region.Root
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Place.Space == region.Arena && r.Place.Bytes > 0 && r.First <= r.Last {
			order = append(order, region.Root(i))
		}
	}
	slices.SortFunc(order, func(a, b region.Root) int { return cmp.Compare(p.Roots[a].Place.Off, p.Roots[b].Place.Off) })
	for i, a := range order {
		end := p.Roots[a].Place.Off + p.Roots[a].Place.Bytes
		for _, b := range order[i+1:] {
			if p.Roots[b].Place.Off >= end {
				break
			}
			if !visit(a, b) {
				return
			}
		}
	}
}
