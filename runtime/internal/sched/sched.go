// Package sched assigns tasks to workers ahead of time: each worker gets a queue, and waits only where
// a task needs what another worker has done and is not known to have done yet.
//
// Queues keep program order, so the earliest unfinished task can always run and nothing deadlocks. The
// schedule is data: package exec runs it, and package verify proves it without knowing how it was made.
package sched

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/opgen/opgen/runtime/schedule"
)

// Costs describes the tasks to the scheduler.
type Costs struct {
	// Time is the estimated time of each task in nanoseconds; nil means that all are alike and short.
	Time []float64
	// Ranges is the number of ranges of each task; nil means one. A task with several ranges whose
	// time is worth it is shared by all workers.
	Ranges []int
	// Latency is how long it takes, in nanoseconds, until one worker sees what another has done. 0
	// means the usual value.
	Latency float64
}

// Usual values in nanoseconds, measured on an x86 server.
const (
	usualLatency = 120 // until one worker sees what another has signalled
	emptyTask    = 4   // a task that does nothing
	signalCost   = 20  // to the worker that signals
	waitCost     = 80  // to the worker that waits, even if there is nothing to wait for
	// shareWorth is the time, in latencies, from which a task is worth sharing.
	shareWorth = 20
	// slack is how long, in latencies, a wait may take that saves later ones.
	slack = 4
)

// New schedules tasks on workers.
func New(g *schedule.Graph, workers int, c Costs) (*schedule.Schedule, error) {
	n := g.Len()
	if workers < 1 {
		return nil, fmt.Errorf("sched: want at least one worker, got %d", workers)
	}
	if c.Time != nil && len(c.Time) != n || c.Ranges != nil && len(c.Ranges) != n {
		return nil, fmt.Errorf("sched: want costs of %d tasks, got %d times and %d ranges", n, len(c.Time), len(c.Ranges))
	}
	if n > schedule.MaxTasks {
		return nil, fmt.Errorf("sched: want at most %d tasks, got %d", schedule.MaxTasks, n)
	}
	if workers == 1 {
		return serial(make([]schedule.Op, n), 1), nil
	}
	if workers > math.MaxInt16 {
		return nil, fmt.Errorf("sched: want at most %d workers, got %d", math.MaxInt16, workers)
	}
	a := newAssigner(g, workers, c)
	for t := range n {
		a.place(t)
		a.total += a.cost(t)
	}
	if a.ready == nil && slices.Max(a.free) >= a.total {
		return serial(make([]schedule.Op, n), workers), nil // even if signals and waits cost nothing
	}
	e := newEmitter(a)
	if s := e.emit(); s != nil && makespan(s, a) < a.total {
		return s, nil
	}
	// The tasks are too short for what it costs to divide them.
	return serial(e.tasks, workers), nil
}

// serial returns the schedule that gives all tasks to worker 0. It keeps queue, which has an entry for each.
func serial(queue []schedule.Op, workers int) *schedule.Schedule {
	for t := range queue {
		queue[t] = schedule.Op(t)
	}
	s := &schedule.Schedule{Tasks: len(queue), Queues: make([][]schedule.Op, workers)}
	s.Queues[0] = queue
	return s
}

// assigner walks the tasks in program order and gives each to the worker on which it would start
// first, knowing what the workers already have.
type assigner struct {
	g       *schedule.Graph
	workers int
	latency float64
	time    []float64
	ranges  []int
	total   float64         // of all tasks' times
	worker  []int16         // per task; sharedBy for a shared one
	finish  []float64       // per task, estimated
	ready   map[int]float64 // per shared task: when its inputs reach all workers
	free    []float64       // per worker
	done    []instant       // for sharedBy, then per worker: when the last input that it makes is done
}

// sharedBy stands for all workers.
const sharedBy = -1 // so that a worker plus 1 is an index

// instant is a time as its bits, which compare as the time does: times from 0 on, and never before them.
// The greater of two integers takes no branch, and a fraction of what it takes for floating-point numbers.
type instant int64

// never is when something happens that does not: some time after it is never, too.
var never = instantOf(math.Inf(-1))

func instantOf(time float64) instant { return instant(math.Float64bits(time)) }

func (i instant) time() float64 { return math.Float64frombits(uint64(i)) }

func newAssigner(g *schedule.Graph, workers int, c Costs) *assigner {
	a := &assigner{g: g, workers: workers, latency: c.Latency, time: c.Time, ranges: c.Ranges,
		worker: make([]int16, g.Len()), finish: make([]float64, g.Len()), free: make([]float64, workers), done: make([]instant, workers+1)}
	if a.latency == 0 {
		a.latency = usualLatency
	}
	return a
}

func (a *assigner) cost(t int) float64 {
	if a.time == nil {
		return emptyTask
	}
	return a.time[t]
}

func (a *assigner) place(t int) {
	cost := a.cost(t)
	if a.ranges != nil && a.ranges[t] > 1 && cost > shareWorth*a.latency {
		a.share(t, cost)
		return
	}
	// When the inputs that each worker makes are done, and those of all workers together, behind the others.
	// There is no branch here on who makes what, which nothing could predict.
	done := a.done
	for w := range done {
		done[w] = never
	}
	for _, p := range a.g.Preds(t) {
		v := &done[a.worker[p]+1]
		*v = max(*v, instantOf(a.finish[p]))
	}
	last, second := done[0], never
	for _, at := range done[1:] {
		second = max(second, min(last, at))
		last = max(last, at)
	}
	best, bestStart := 0, instantOf(math.Inf(1))
	for w, free := range a.free {
		mine := done[w+1]
		others := last
		if mine == last {
			others = second
		}
		if start := max(instantOf(free), mine, instantOf(others.time()+a.latency)); start < bestStart {
			best, bestStart = w, start
		}
	}
	a.worker[t] = int16(best)
	a.finish[t] = bestStart.time() + cost
	a.free[best] = a.finish[t]
}

// start returns when a task is expected to start.
func (a *assigner) start(t int) float64 {
	if a.worker[t] == sharedBy {
		return a.ready[t]
	}
	return a.finish[t] - a.cost(t)
}

// share gives a task to all workers.
func (a *assigner) share(t int, cost float64) {
	ready := 0.0
	for _, p := range a.g.Preds(t) {
		ready = max(ready, a.finish[p]+a.latency)
	}
	var from float64
	for w := range a.free {
		from += max(a.free[w], ready)
	}
	end := (from + cost) / float64(a.workers)
	a.worker[t] = sharedBy
	if a.ready == nil {
		a.ready = map[int]float64{}
	}
	a.ready[t] = ready
	a.finish[t] = end
	for w := range a.free {
		a.free[w] = max(end, ready)
	}
}

// wait is a wait before a task of a worker's queue.
type wait struct {
	at     int32 // number of the task in the queue, before which it stands
	worker int32 // the other worker; sharedBy for a shared task
	what   int32 // position of the other worker's tasks, or the shared task
}

// emitter turns an assignment into queues. Positions count a worker's own tasks, from 1.
type emitter struct {
	*assigner
	tasks    []schedule.Op   // what own is made of
	position []int32         // per task; 0 for a shared one
	own      [][]schedule.Op // per worker: its own tasks
	order    [][]schedule.Op // per worker: its tasks, shared ones included; own if there are none
	now      []int32         // per worker and worker: positions that it knows
	learnt   [][]int32       // per worker: what it knew, and from which of its positions on; see learn
	fresh    []bool          // per worker: it has learnt something since its last own task
	slot     []int32         // per task: number among the shared ones
	done     [][]bool        // per worker: shared tasks that it knows to be done
	waits    [][]wait
	needed   []bool  // per task: somebody waits for its position
	waiting  float64 // what signals and waits cost
}

func newEmitter(a *assigner) *emitter {
	n, W := a.g.Len(), a.workers
	e := &emitter{assigner: a, tasks: make([]schedule.Op, n), position: make([]int32, n), own: make([][]schedule.Op, W), order: make([][]schedule.Op, W),
		now: make([]int32, W*W), learnt: make([][]int32, W), fresh: make([]bool, W), done: make([][]bool, W), waits: make([][]wait, W), needed: make([]bool, n)}
	count := make([]int, W)
	for _, w := range a.worker {
		if w != sharedBy {
			count[w]++
		}
	}
	rest := e.tasks
	for w, k := range count {
		e.own[w], rest = rest[:0:k], rest[k:]
	}
	return e
}

// emit writes the queues. A worker knows, of every other, a position that it has passed: from its own
// waits, and from what the others knew when they signalled. It waits only for more than it knows. Once
// signals and waits alone cost more than the workers can save, emit gives up and returns nil.
func (e *emitter) emit() *schedule.Schedule {
	n, W := e.g.Len(), e.workers
	s := &schedule.Schedule{Tasks: n, Queues: make([][]schedule.Op, W)}
	for t, w := range e.worker {
		if w != sharedBy {
			continue
		}
		if e.slot == nil {
			e.slot = make([]int32, n)
		}
		e.slot[t] = int32(len(s.Shared))
		s.Shared = append(s.Shared, int32(t))
	}
	if len(s.Shared) > 0 {
		for w := range W {
			e.done[w] = make([]bool, len(s.Shared))
			e.order[w] = make([]schedule.Op, 0, cap(e.own[w])+len(s.Shared))
		}
	}
	// The longest queue takes no less than the mean of all.
	tooMuch := float64(W-1) * e.total
	for t := range n {
		if e.waiting > tooMuch {
			return nil
		}
		if e.worker[t] == sharedBy {
			for w := range W {
				e.await(t, w)
				e.order[w] = append(e.order[w], schedule.Op(t))
			}
			continue
		}
		w := int(e.worker[t])
		e.await(t, w)
		e.own[w] = append(e.own[w], schedule.Op(t))
		if len(s.Shared) > 0 {
			e.order[w] = append(e.order[w], schedule.Op(t))
		}
		e.position[t] = int32(len(e.own[w]))
		e.now[w*W+w] = e.position[t]
		if e.fresh[w] {
			e.fresh[w] = false
			e.learn(w)
		}
	}
	if len(s.Shared) == 0 {
		e.order = e.own
	}
	e.queues(s)
	return s
}

// learn notes what worker w knows at its last own position: the position, then one of each worker.
func (e *emitter) learn(w int) {
	W := e.workers
	list := e.learnt[w]
	if len(list) == cap(list) {
		list = slices.Grow(list, 2*len(list)+1024)
	}
	list = append(list, int32(len(e.own[w])))
	e.learnt[w] = append(list, e.now[w*W:(w+1)*W]...)
}

// known returns what worker w knew at one of its own positions, per worker.
func (e *emitter) known(w int, pos int32) []int32 {
	list, size := e.learnt[w], e.workers+1
	i := sort.Search(len(list)/size, func(i int) bool { return list[i*size] > pos })
	if i == 0 {
		return nil
	}
	return list[(i-1)*size+1 : i*size]
}

// next returns the number that the next task will have in the queue of worker w.
func (e *emitter) next(w int) int32 { return int32(max(len(e.own[w]), len(e.order[w]))) }

// await notes what worker w has to wait for before task t.
func (e *emitter) await(t, w int) {
	W := e.workers
	mine := e.now[w*W : (w+1)*W]
	for _, p := range e.g.Preds(t) {
		v := e.worker[p]
		if v == sharedBy {
			if k := e.slot[p]; !e.done[w][k] {
				e.waits[w] = append(e.waits[w], wait{e.next(w), sharedBy, p})
				e.waiting += waitCost
				e.done[w][k] = true
			}
			continue
		}
		if mine[v] >= e.position[p] { // as of all of w's own
			continue
		}
		pos := e.target(t, int(v), e.position[p])
		last := e.own[v][pos-1]
		if !e.needed[last] {
			e.needed[last] = true
			e.waiting += signalCost
		}
		e.waits[w] = append(e.waits[w], wait{e.next(w), int32(v), pos})
		e.waiting += waitCost
		mine[v] = pos
		for u, k := range e.known(int(v), pos) {
			mine[u] = max(mine[u], k)
		}
		e.fresh[w] = true
	}
}

// target returns the position of worker v for which task t waits: pos at least, or a later one if that
// is expected soon, which saves waiting for it later. All tasks of v up to it come before t in program
// order, so waits remain free of cycles.
func (e *emitter) target(t, v int, pos int32) int32 {
	own := e.own[v]
	limit := e.start(t) - e.latency + slack*e.latency
	n := sort.Search(len(own)-int(pos), func(i int) bool { return e.finish[own[int(pos)+i]] > limit })
	return pos + int32(n)
}

// queues writes the queues with waits and signals, and turns positions into those of queue entries.
func (e *emitter) queues(s *schedule.Schedule) {
	for w := range e.workers {
		size := len(e.order[w]) + len(e.waits[w])
		for _, t := range e.own[w] {
			if e.needed[t] {
				size++
			}
		}
		q := make([]schedule.Op, 0, size)
		next := e.waits[w]
		for i, t := range e.order[w] {
			for ; len(next) > 0 && int(next[0].at) == i; next = next[1:] {
				if next[0].worker == sharedBy {
					q = append(q, schedule.WaitSharedOf(next[0].what))
				} else {
					q = append(q, schedule.WaitOf(len(s.Waits)))
					s.Waits = append(s.Waits, schedule.Wait{Worker: next[0].worker, Position: next[0].what})
				}
			}
			if e.worker[t] == sharedBy {
				q = append(q, schedule.ShareOf(int32(t)))
				continue
			}
			q = append(q, t)
			if e.needed[t] {
				q = append(q, schedule.Signaling)
				e.position[t] = int32(len(q)) // from now on, of the queue's entries
			}
		}
		s.Queues[w] = q
	}
	for i := range s.Waits {
		v := &s.Waits[i]
		v.Position = e.position[e.own[v.Worker][v.Position-1]]
	}
}
