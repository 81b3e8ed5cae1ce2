// Package sched schedules tasks on workers ahead of time, by list scheduling in program order. Each worker
// gets a queue. It waits only where a task needs the result of another worker with which it has not
// synchronized since.
//
// Queues keep program order, so the earliest unfinished task can always run and nothing deadlocks. The
// schedule is data: package exec runs it, and package verify proves it.
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
	// Time is the estimated time of each task in nanoseconds; nil means that all tasks are equally short.
	Time []float64
	// Ranges is the number of ranges of each task; nil means one. All workers share a task with several
	// ranges if it takes long enough.
	Ranges []int
	// Latency is the time, in nanoseconds, until a signal of one worker reaches another. 0 means the
	// default.
	Latency float64
}

// Default values in nanoseconds, measured on an x86 server.
const (
	defaultLatency = 120 // until a signal of one worker reaches another
	emptyTask      = 4   // a task that does nothing
	signalCost     = 20  // to the worker that signals
	waitCost       = 80  // to the worker that waits, even if there is nothing to wait for
	// shareWorth is the time, in latencies, from which a task is worth sharing.
	shareWorth = 20
	// slack is the longest time, in latencies, that a wait may take to make later waits unnecessary.
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
	// Dividing such short tasks costs more than it saves.
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

// assigner assigns each task, in program order, to the worker on which it would start first after the tasks
// that are assigned already.
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
	needs   []uint64        // per task: the workers whose tasks need it, as bits; several share a bit beyond 64
}

// sharedBy stands for all workers. A worker plus 1 is thus an index.
const sharedBy = -1

// instant holds the bits of a float64, a time in nanoseconds. The bits of times from 0 on compare as the
// times do, and never is less than all of them. The maximum of two integers takes no branch, and is faster
// than that of two floating-point numbers.
type instant int64

// never is minus infinity, the time of an event that does not occur. A duration added to it gives never
// again.
var never = instantOf(math.Inf(-1))

func instantOf(time float64) instant { return instant(math.Float64bits(time)) }

func (i instant) time() float64 { return math.Float64frombits(uint64(i)) }

func newAssigner(g *schedule.Graph, workers int, c Costs) *assigner {
	a := &assigner{g: g, workers: workers, latency: c.Latency, time: c.Time, ranges: c.Ranges,
		worker: make([]int16, g.Len()), finish: make([]float64, g.Len()), needs: make([]uint64, g.Len()), free: make([]float64, workers), done: make([]instant, workers+1)}
	if a.latency == 0 {
		a.latency = defaultLatency
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
	// Entry 0 is the time when the inputs from shared tasks are done, entry w+1 that of the inputs from
	// worker w. This loop has no branch on the worker of an input, since such a branch would be mispredicted
	// often.
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
	for _, p := range a.g.Preds(t) {
		a.needs[p] |= bit(best)
	}
}

// bit returns the bit of a worker in assigner.needs.
func bit(w int) uint64 { return 1 << (w % 64) }

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
	for _, p := range a.g.Preds(t) {
		a.needs[p] = math.MaxUint64
	}
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
	clock    []int32         // per worker: its vector clock, the positions of all workers that are over for it
	history  [][]int32       // per worker: its clocks at its own positions; see record
	joined   []bool          // per worker: its clock has changed by a wait since its last own task
	slot     []int32         // per task: number among the shared ones
	done     [][]bool        // per worker: shared tasks that are over for it
	waits    [][]wait
	needed   []bool  // per task: a worker waits for its position
	waiting  float64 // what signals and waits cost
}

func newEmitter(a *assigner) *emitter {
	n, W := a.g.Len(), a.workers
	e := &emitter{assigner: a, tasks: make([]schedule.Op, n), position: make([]int32, n), own: make([][]schedule.Op, W), order: make([][]schedule.Op, W),
		clock: make([]int32, W*W), history: make([][]int32, W), joined: make([]bool, W), done: make([][]bool, W), waits: make([][]wait, W), needed: make([]bool, n)}
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

// emit writes the queues. Each worker has a vector clock. A wait joins it with the clock that the other
// worker had when it signaled. A worker waits only for positions beyond its clock. emit returns nil once
// signals and waits alone cost more than the workers can save.
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
		e.clock[w*W+w] = e.position[t]
		if e.joined[w] {
			e.joined[w] = false
			e.record(w)
		}
	}
	if len(s.Shared) == 0 {
		e.order = e.own
	}
	e.queues(s)
	return s
}

// record appends the clock of worker w at its last own position to its history: the position, then the clock.
func (e *emitter) record(w int) {
	W := e.workers
	list := e.history[w]
	if len(list) == cap(list) {
		list = slices.Grow(list, 2*len(list)+1024)
	}
	list = append(list, int32(len(e.own[w])))
	e.history[w] = append(list, e.clock[w*W:(w+1)*W]...)
}

// clockAt returns the clock of worker w at one of its own positions; nil if the worker had not waited before.
func (e *emitter) clockAt(w int, pos int32) []int32 {
	list, size := e.history[w], e.workers+1
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
	mine := e.clock[w*W : (w+1)*W]
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
		pos := e.target(t, w, int(v), e.position[p])
		last := e.own[v][pos-1]
		if !e.needed[last] {
			e.needed[last] = true
			e.waiting += signalCost
		}
		e.waits[w] = append(e.waits[w], wait{e.next(w), int32(v), pos})
		e.waiting += waitCost
		mine[v] = pos
		for u, k := range e.clockAt(int(v), pos) {
			mine[u] = max(mine[u], k)
		}
		e.joined[w] = true
	}
}

// target returns the position of worker v for which task t of worker w waits: pos, or a later one if that is
// expected soon and later tasks of w need it, so that no wait for it is needed then. All tasks of v up to it
// come before t in program order, so waits remain free of cycles.
func (e *emitter) target(t, w, v int, pos int32) int32 {
	own := e.own[v]
	limit := e.start(t) - e.latency + slack*e.latency
	n := sort.Search(len(own)-int(pos), func(i int) bool { return e.finish[own[int(pos)+i]] > limit })
	for n > 0 && e.needs[own[int(pos)+n-1]]&bit(w) == 0 {
		n--
	}
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
