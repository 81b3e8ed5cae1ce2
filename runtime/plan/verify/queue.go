package verify

import (
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/schedule"
)

// queues is a plan's schedule, by task.
type queues struct {
	checker
	at     []int   // per task: its place in the queue of its worker; not of shared ones
	worker []int   // per task; shared for a shared one
	number []int   // per task: its number among the shared ones
	places [][]int // per shared task and worker: its place in the worker's queue
	// The vector clocks at which tasks begin. Method run fills them in.
	clocks []*clock   // per task
	shares [][]*clock // per shared task and worker
}

const (
	shared   = -1 // stands for all workers
	unplaced = -2 // stands for no worker, and for no place in a queue
)

// queues checks that the queues hold every task as often as they must.
func (c checker) queues() (*queues, *plan.Error) {
	s := &c.Schedule
	n, workers := len(c.Tasks), s.Workers()
	if s.Tasks != n || workers < 1 {
		return nil, c.Errorf("want a schedule of %d tasks for at least one worker, got %d for %d", n, s.Tasks, workers)
	}
	entries := 0
	for _, queue := range s.Queues {
		entries += len(queue)
	}
	if len(s.Shared) > entries/workers {
		return nil, c.Errorf("want each of %d shared tasks in each of %d queues, got queues with %d entries", len(s.Shared), workers, entries)
	}
	q := &queues{checker: c, at: make([]int, n), worker: make([]int, n), number: make([]int, n), clocks: make([]*clock, n)}
	for t := range q.worker {
		q.worker[t] = unplaced
	}
	for k, t := range s.Shared {
		if t < 0 || int(t) >= n || q.worker[t] == shared {
			return nil, c.Errorf("want each shared task once, from 0 to %d, got task %d", n-1, t)
		}
		q.worker[t], q.number[t] = shared, k
		places := make([]int, workers)
		for w := range places {
			places[w] = unplaced
		}
		q.places = append(q.places, places)
		q.shares = append(q.shares, make([]*clock, workers))
	}
	for w, queue := range s.Queues {
		for i, op := range queue {
			if err := q.add(w, i, op); err != nil {
				return nil, err
			}
		}
	}
	for t := range n {
		if q.worker[t] == unplaced {
			return nil, c.TaskErrorf(t, "want every task in a queue, got none for task %d", t)
		}
		if q.worker[t] == shared {
			for w, at := range q.places[q.number[t]] {
				if at == unplaced {
					return nil, c.TaskErrorf(t, "want a shared task in each queue, got none in that of worker %d", w)
				}
			}
		}
	}
	return q, nil
}

// add notes entry i of the queue of worker w.
func (q *queues) add(w, i int, op schedule.Op) *plan.Error {
	switch kind, k := op.Decode(); kind {
	case schedule.Run:
		if k >= len(q.Tasks) || q.worker[k] != unplaced {
			return q.Errorf("want every task once, got task %d again, or shared, in the queue of worker %d", k, w)
		}
		q.worker[k], q.at[k] = w, i
	case schedule.Share, schedule.WaitShared:
		if k < 0 || k >= len(q.Tasks) || q.worker[k] != shared {
			return q.Errorf("want a shared task, got task %d in the queue of worker %d", k, w)
		}
		if kind == schedule.WaitShared {
			return nil
		}
		place := &q.places[q.number[k]][w]
		if *place != unplaced {
			return q.TaskErrorf(k, "want a shared task once in each queue, got it again in that of worker %d", w)
		}
		*place = i
	case schedule.WaitFor:
		if k < 0 || k >= len(q.Schedule.Waits) {
			return q.Errorf("want waits from 0 to %d, got %d in the queue of worker %d", len(q.Schedule.Waits)-1, k, w)
		}
		if v := q.Schedule.Waits[k]; v.Worker < 0 || int(v.Worker) >= q.Schedule.Workers() {
			return q.Errorf("want workers from 0 to %d, got %d to wait for", q.Schedule.Workers()-1, v.Worker)
		}
	}
	return nil
}
