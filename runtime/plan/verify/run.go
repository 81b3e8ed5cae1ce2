package verify

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/schedule"
)

// walk is a walk through all queues at once, which advances any worker that need not wait.
type walk struct {
	*queues
	now     []*clock   // per worker
	own     []bool     // per worker: whether nothing else has its clock
	at      []int      // per worker: the entry of its queue that is next
	signals [][]signal // per worker
	arrived []int      // per shared task: how many workers have come to it
}

// signal is a signal of a worker: its position, and what was over when the worker sent it.
type signal struct {
	at    int
	clock *clock
}

// run finds the vector clocks at which tasks begin. It fails if a queue does not come to its end.
func (q *queues) run() *plan.Error {
	workers := q.Schedule.Workers()
	x := &walk{q, make([]*clock, workers), make([]bool, workers), make([]int, workers), make([][]signal, workers), make([]int, len(q.Schedule.Shared))}
	begin := &clock{passed: make([]int, workers)}
	for w := range x.now {
		x.now[w] = begin
	}
	for moved := true; moved; {
		moved = false
		for w := range workers {
			for x.at[w] < len(q.Schedule.Queues[w]) && x.step(w) {
				moved = true
			}
		}
	}
	for w := range workers {
		if x.at[w] < len(q.Schedule.Queues[w]) {
			return x.stuck(w)
		}
	}
	return nil
}

// step goes past the next entry of the queue of worker w, unless that must wait.
func (x *walk) step(w int) bool {
	i := x.at[w]
	switch kind, n := x.Schedule.Queues[w][i].Decode(); kind {
	case schedule.Run:
		x.clocks[n], x.own[w] = x.now[w], false
	case schedule.Share:
		k := x.number[n]
		now := x.until(w, i)
		for m := now.upto; m < len(x.Schedule.Shared); m++ {
			if !now.has(m) && x.passed(m, now.passed, w, i) {
				now = now.with(m)
			}
		}
		x.shares[k][w] = now
		x.arrived[k]++
	case schedule.Signal:
		x.signals[w] = append(x.signals[w], signal{i + 1, x.until(w, i)})
	case schedule.WaitFor:
		// The first signal at or behind the position ends the wait.
		wait := x.Schedule.Waits[n]
		list := x.signals[wait.Worker]
		j, _ := slices.BinarySearchFunc(list, int(wait.Position), func(s signal, pos int) int { return cmp.Compare(s.at, pos) })
		switch {
		case wait.Position <= 0: // nothing to wait for
		case j == len(list):
			return false
		case x.own[w]: // several waits follow each other
			x.now[w].add(list[j].clock)
		default:
			x.now[w], x.own[w] = x.now[w].join(list[j].clock), true
		}
	case schedule.WaitShared:
		k := x.number[n]
		if x.arrived[k] < len(x.now) {
			return false
		}
		all := x.shares[k][0]
		for _, other := range x.shares[k][1:] {
			all = all.meet(other)
		}
		x.now[w], x.own[w] = x.now[w].join(all.with(k)), true
	}
	x.at[w]++
	return true
}

// until returns the clock of worker w, with its own queue up to place i.
func (x *walk) until(w, i int) *clock {
	c := *x.now[w]
	c.passed = slices.Clone(c.passed)
	c.passed[w] = i
	return &c
}

// stuck returns an error about worker w, whose queue does not come to its end.
func (x *walk) stuck(w int) *plan.Error {
	i := x.at[w]
	kind, n := x.Schedule.Queues[w][i].Decode()
	if kind == schedule.WaitShared {
		return x.TaskErrorf(n, "want queues that come to their ends, got worker %d waiting at %d for a shared task that some worker cannot come to", w, i)
	}
	wait := x.Schedule.Waits[n]
	return x.Errorf("want queues that come to their ends, got worker %d waiting at %d for position %d of worker %d", w, i, wait.Position, wait.Worker)
}
