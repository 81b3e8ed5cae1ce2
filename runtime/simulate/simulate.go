// Package simulate predicts how long a plan takes on a machine, and what each worker does when. It runs the
// queues of the plan by discrete events, as a pool of workers runs them: without kernels, and with a model of
// the machine in place of a clock.
package simulate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/timeline"
)

// Machine is a model of a machine. Times are in seconds. The zero value is a machine on which all but the
// work of tasks takes no time.
type Machine struct {
	Range   float64 // overhead of a range
	Signal  float64 // time that a signal costs the worker that signals
	Wait    float64 // time that a wait costs the waiting worker even if the task is over
	Latency float64 // until a signal, or the end of a shared task, reaches another worker
	Start   float64 // until the workers other than worker 0 begin, where there is work for them
	// Rate is the floating-point operations a second of one worker; 0 means that they take no time.
	Rate float64
	// Bandwidth is the bytes a second that all workers share; each that moves bytes has an equal part of it.
	// Each moves EachBandwidth at most. 0 means no bound.
	Bandwidth, EachBandwidth float64
}

// Work is the work of a task on any worker. Its ranges have parts of it in proportion to their indices. A
// range moves its bytes while it computes, so it takes the longer of both times.
type Work struct {
	Seconds float64 // a time that was measured, in which nothing is shared with other workers
	Flops   float64 // floating-point operations, which take time in addition to Seconds
	Bytes   float64 // that are moved from and to memory
	// Ranges are the seconds of each range in each phase, where workers share the task, in place of parts of
	// Seconds. Each phase begins when the one before is over. Nil means one phase. Operations and bytes are
	// divided among phases equally.
	Ranges [][]float64
}

// phases returns the number of phases in which workers share the task.
func (w *Work) phases() int { return max(len(w.Ranges), 1) }

// Task is when a task runs.
type Task struct {
	Begin, End float64 // in seconds from the beginning of the run
	Worker     int     // that runs the task; -1 if several share its ranges
}

// Prediction is a predicted run of a plan on a machine.
type Prediction struct {
	Seconds float64 // time from the beginning until the last worker ends
	// CriticalPath is the seconds of the longest chain of tasks that depend on each other, if each has the
	// machine to itself and a worker for each of its ranges. No run takes less.
	CriticalPath float64
	Tasks        []Task
	Timeline     *timeline.Timeline
}

// Waiting returns how many seconds a worker waits in all.
func (p *Prediction) Waiting(worker int) float64 { return p.Timeline.Total(worker, timeline.Wait) }

// Plan predicts a run of a plan on a machine that has the workers of the plan's queues. work has what each
// task of the plan takes. The error says what is wrong with the numbers or the queues; queues that package
// verify has proved come to their ends.
func Plan(p *plan.Plan, work []Work, m Machine) (*Prediction, error) {
	if p == nil {
		return nil, errors.New("simulate: want a plan, got nil")
	}
	if err := check(p, work, &m); err != nil {
		return nil, fmt.Errorf("simulate: plan %s: %w", p.Name, err)
	}
	s := newSimulation(p, work, &m)
	s.out.CriticalPath = s.criticalPath()
	if err := s.run(); err != nil {
		return nil, fmt.Errorf("simulate: plan %s: %w", p.Name, err)
	}
	s.out.Seconds = s.now
	return s.out, nil
}

// check returns an error unless the simulation can go on with the numbers.
func check(p *plan.Plan, work []Work, m *Machine) error {
	q := &p.Schedule
	if len(work) != len(p.Tasks) || q.Tasks != len(p.Tasks) {
		return fmt.Errorf("want work and queues of %d tasks, got %d and %d", len(p.Tasks), len(work), q.Tasks)
	}
	if q.Workers() == 0 {
		return errors.New("want queues of workers, got none")
	}
	for _, v := range []struct {
		name  string
		value float64
	}{{"Range", m.Range}, {"Signal", m.Signal}, {"Wait", m.Wait}, {"Latency", m.Latency}, {"Start", m.Start}, {"Rate", m.Rate},
		{"Bandwidth", m.Bandwidth}, {"EachBandwidth", m.EachBandwidth}} {
		if !counts(v.value) {
			return fmt.Errorf("machine, %s: want a number of at least 0, got %v", v.name, v.value)
		}
	}
	if p.Deps.Len() != len(p.Tasks) || int(p.Deps.Start[0]) != 0 || int(p.Deps.Start[len(p.Tasks)]) != len(p.Deps.Pred) || !slices.IsSorted(p.Deps.Start) {
		return fmt.Errorf("want predecessors of %d tasks, got those of %d", len(p.Tasks), p.Deps.Len())
	}
	for i, w := range work {
		for _, v := range p.Deps.Preds(i) {
			if v < 0 || int(v) >= i {
				return fmt.Errorf("task %d, %s: want predecessors before it, got task %d", i, p.Label(i), v)
			}
		}
		if !counts(w.Seconds) || !counts(w.Flops) || !counts(w.Bytes) {
			return fmt.Errorf("task %d, %s: want seconds, operations and bytes of at least 0, got %v, %v, %v", i, p.Label(i), w.Seconds, w.Flops, w.Bytes)
		}
		g := p.Tasks[i].Grid()
		if err := g.Check(); err != nil {
			return fmt.Errorf("task %d, %s: %w", i, p.Label(i), err)
		}
		if t := p.Tasks[i].Tile; t < 0 || t > g.Tiles() {
			return fmt.Errorf("task %d, %s: want tile 1 to %d, got %d", i, p.Label(i), g.Tiles(), t)
		}
		first, end := tiles(&p.Tasks[i])
		for _, phase := range w.Ranges {
			if len(phase) != end-first || slices.ContainsFunc(phase, func(v float64) bool { return !counts(v) }) {
				return fmt.Errorf("task %d, %s: want seconds of %d ranges in each phase, got %v", i, p.Label(i), end-first, phase)
			}
		}
	}
	for w, queue := range q.Queues {
		for i, entry := range queue {
			kind, n := entry.Decode()
			ok := n < len(p.Tasks)
			if kind == schedule.WaitFor {
				ok = n < len(q.Waits) && q.Waits[n].Worker >= 0 && int(q.Waits[n].Worker) < q.Workers()
			}
			if !ok {
				return fmt.Errorf("worker %d, entry %d of its queue: want a task of the plan or a wait for a worker, got number %d", w, i, n)
			}
		}
	}
	return nil
}

func counts(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// worker is where a worker is.
type worker struct {
	at   int // entry of its queue
	busy bool
	// Of what the worker does: when the part that it does not share ends, and the bytes that are left.
	until, bytes float64
	span         timeline.Span
	next, end    int // tiles that are left of a task that the worker runs alone
	running      bool
	ticket       int     // of a shared task, the number of the range that the worker has taken, from 1; 0 for none
	entered      bool    // whether the phase of that range has begun
	arrived      float64 // when it came to the wait at which it is
	waiting      bool
	signals      []signaled
}

// signaled is a signal: the position of a queue, and when it is set.
type signaled struct {
	position int
	when     float64
}

// share is how far a shared task is. Its ranges are counted through all phases.
type share struct {
	next, done int
	over       []end // of phases
}

// end is when a phase is over, and which worker was the last one.
type end struct {
	when   float64
	worker int
}

// simulation is the state of a run.
type simulation struct {
	plan    *plan.Plan
	work    []Work
	machine *Machine
	now     float64
	workers []worker
	shared  map[int]*share
	out     *Prediction
}

func newSimulation(p *plan.Plan, work []Work, m *Machine) *simulation {
	W := p.Schedule.Workers()
	s := &simulation{plan: p, work: work, machine: m, workers: make([]worker, W), shared: map[int]*share{},
		out: &Prediction{Tasks: make([]Task, len(p.Tasks)), Timeline: &timeline.Timeline{Name: "prediction of plan " + p.Name, Plan: p, Workers: make([][]timeline.Span, W)}}}
	for t := range s.out.Tasks {
		s.out.Tasks[t] = Task{Begin: math.Inf(1), Worker: -2}
	}
	for w := 1; w < W; w++ {
		if len(p.Schedule.Queues[w]) > 0 && m.Start > 0 {
			s.workers[w].busy, s.workers[w].until = true, m.Start
			s.workers[w].span.Kind = idle
		}
	}
	return s
}

// idle is the kind of what is in no timeline: the time before a worker begins.
const idle = timeline.Kind(255)

// run lets workers go on until all are at the ends of their queues.
func (s *simulation) run() error {
	for {
		for moved := true; moved; { // workers with smaller numbers first
			moved = false
			for w := range s.workers {
				for s.step(w) {
					moved = true
				}
			}
		}
		next := s.nextEvent()
		if math.IsInf(next, 1) {
			return s.ended()
		}
		s.advance(next)
	}
}

// each returns the bytes a second of each worker that moves some; infinite if there is no bound.
func (s *simulation) each() float64 {
	n := 0
	for w := range s.workers {
		if s.workers[w].busy && s.workers[w].bytes > 0 {
			n++
		}
	}
	rate := math.Inf(1)
	if s.machine.Bandwidth > 0 {
		rate = s.machine.Bandwidth / float64(max(n, 1))
	}
	if s.machine.EachBandwidth > 0 {
		rate = min(rate, s.machine.EachBandwidth)
	}
	return rate
}

// nextEvent returns when something ends next: what a worker does, or the bytes that it moves, after which
// others have more of the bandwidth.
func (s *simulation) nextEvent() float64 {
	next, rate := math.Inf(1), s.each()
	for w := range s.workers {
		k := &s.workers[w]
		switch {
		case !k.busy:
			if k.waiting {
				next = min(next, s.reached(w))
			}
		case k.bytes > 0:
			next = min(next, s.now+k.bytes/rate)
		default:
			next = min(next, k.until)
		}
	}
	return max(next, s.now)
}

// advance moves bytes until a time.
func (s *simulation) advance(to float64) {
	rate := s.each()
	for w := range s.workers {
		k := &s.workers[w]
		if !k.busy || k.bytes == 0 {
			continue
		}
		if s.now+k.bytes/rate <= to { // the comparison of nextEvent, so that an event ends something
			k.bytes = 0
		} else {
			k.bytes = max(k.bytes-(to-s.now)*rate, 0)
		}
	}
	s.now = to
}

// step lets a worker end what it does, or begin what comes next in its queue. It returns false if the worker
// can do neither now.
func (s *simulation) step(w int) bool {
	k := &s.workers[w]
	if k.busy {
		if k.bytes > 0 || k.until > s.now {
			return false
		}
		k.busy = false
		s.finish(w)
		return true
	}
	queue := s.plan.Schedule.Queues[w]
	if k.at == len(queue) {
		return false
	}
	switch kind, n := queue[k.at].Decode(); kind {
	case schedule.Run:
		if !k.running {
			k.running = true
			k.next, k.end = tiles(&s.plan.Tasks[n])
			s.out.Tasks[n] = Task{Begin: s.now, End: s.now, Worker: w}
		}
		if k.next == k.end {
			k.running = false
			k.at++
			return true
		}
		k.next++
		s.begin(k, n, k.next-1, -1)
	case schedule.Share:
		h := s.sharing(n)
		first, end := tiles(&s.plan.Tasks[n])
		if k.ticket == 0 {
			if h.next == (end-first)*s.work[n].phases() {
				k.at++
				return true
			}
			h.next++
			k.ticket = h.next
		}
		phase := (k.ticket - 1) / (end - first)
		if phase > 0 && !k.entered {
			return s.wait(w)
		}
		s.begin(k, n, first+(k.ticket-1)%(end-first), phase)
		k.ticket, k.entered = 0, false
	case schedule.Signal:
		k.busy, k.until = true, s.now+s.machine.Signal
		k.span = timeline.Span{Kind: timeline.Signal, Task: timeline.Awaited(&s.plan.Schedule, w, k.at), Begin: s.now}
	default:
		return s.wait(w)
	}
	return true
}

// wait lets a worker wait, or go on if that for which it waits has come.
func (s *simulation) wait(w int) bool {
	k := &s.workers[w]
	if !k.waiting {
		k.waiting, k.arrived = true, s.now
	}
	if s.reached(w) > s.now {
		return false
	}
	k.waiting = false
	k.span = timeline.Span{Kind: timeline.Wait, For: -1, Begin: k.arrived}
	switch kind, n := s.plan.Schedule.Queues[w][k.at].Decode(); kind {
	case schedule.WaitFor:
		v := &s.plan.Schedule.Waits[n]
		k.span.For, k.span.Task = int(v.Worker), timeline.Awaited(&s.plan.Schedule, int(v.Worker), int(v.Position))
	default:
		k.span.Task = n
	}
	k.busy, k.until = true, s.now+s.machine.Wait
	return true
}

// reached returns when a worker that waits may go on; infinite if that is not known yet.
func (s *simulation) reached(w int) float64 {
	switch kind, n := s.plan.Schedule.Queues[w][s.workers[w].at].Decode(); kind {
	case schedule.WaitFor:
		v := &s.plan.Schedule.Waits[n]
		list := s.workers[v.Worker].signals
		i := sort.Search(len(list), func(i int) bool { return list[i].position >= int(v.Position) })
		if i == len(list) {
			return math.Inf(1)
		}
		return list[i].when + s.machine.Latency
	default: // for the end of a phase: the last one, or the one before that of a range
		phases := s.work[n].phases()
		if first, end := tiles(&s.plan.Tasks[n]); kind == schedule.Share {
			phases = (s.workers[w].ticket - 1) / (end - first)
		} else if first == end {
			return s.now
		}
		h := s.sharing(n)
		switch {
		case len(h.over) < phases:
			return math.Inf(1)
		case h.over[phases-1].worker == w:
			return h.over[phases-1].when
		}
		return h.over[phases-1].when + s.machine.Latency
	}
}

// finish notes what a worker has done.
func (s *simulation) finish(w int) {
	k := &s.workers[w]
	k.span.End = s.now
	if k.span.Kind == idle {
		return
	}
	s.out.Timeline.Workers[w] = append(s.out.Timeline.Workers[w], k.span)
	switch k.span.Kind {
	case timeline.Wait:
		if k.ticket > 0 {
			k.entered = true
		} else {
			k.at++
		}
	case timeline.Signal:
		k.at++
		k.signals = append(k.signals, signaled{k.at, s.now})
	default:
		t := &s.out.Tasks[k.span.Task]
		t.Begin, t.End = min(t.Begin, k.span.Begin), max(t.End, s.now)
		if !k.running { // a shared task
			h := s.sharing(k.span.Task)
			h.done++
			if first, last := tiles(&s.plan.Tasks[k.span.Task]); h.done%(last-first) == 0 {
				h.over = append(h.over, end{s.now, w})
			}
			if t.Worker == -2 {
				t.Worker = w
			} else if t.Worker != w {
				t.Worker = -1
			}
		}
	}
}

// tiles returns the numbers of the tiles of a task: from first to end-1.
func tiles(t *plan.Task) (first, end int) {
	if t.Tile > 0 {
		return t.Tile - 1, t.Tile
	}
	return 0, t.Ranges()
}

func (s *simulation) sharing(task int) *share {
	h := s.shared[task]
	if h == nil {
		h = &share{}
		s.shared[task] = h
	}
	return h
}

// begin lets a worker begin a tile of a task that it runs alone, or in a phase that it shares with others;
// the phase is -1 where it is alone.
func (s *simulation) begin(k *worker, task, tile, phase int) {
	t := &s.plan.Tasks[task]
	grid := t.Grid()
	r := grid.Tile(tile)
	part := 1.0
	if t.Tile == 0 {
		part = grid.Part(tile)
	}
	work := &s.work[task]
	alone := work.Seconds * part
	if phase >= 0 {
		if first, _ := tiles(t); work.Ranges != nil {
			alone = work.Ranges[phase][tile-first]
		}
		part /= float64(work.phases())
	}
	if s.machine.Rate > 0 {
		alone += work.Flops / s.machine.Rate * part
	}
	k.busy, k.until, k.bytes = true, s.now+s.machine.Range+alone, 0
	if s.machine.Bandwidth > 0 || s.machine.EachBandwidth > 0 {
		k.bytes = work.Bytes * part
	}
	k.span = timeline.Span{Task: task, Range: r, Begin: s.now}
}

// ended returns an error unless all workers are at the ends of their queues.
func (s *simulation) ended() error {
	var stuck []string
	for w := range s.workers {
		k := &s.workers[w]
		queue := s.plan.Schedule.Queues[w]
		if k.at == len(queue) {
			continue
		}
		what := ""
		switch kind, n := queue[k.at].Decode(); kind {
		case schedule.WaitFor:
			v := s.plan.Schedule.Waits[n]
			what = fmt.Sprintf("worker %d to signal position %d", v.Worker, v.Position)
		default:
			what = fmt.Sprintf("the end of task %d, %s", n, s.plan.Label(n))
		}
		stuck = append(stuck, fmt.Sprintf("worker %d waits at entry %d for %s", w, k.at, what))
	}
	if len(stuck) > 0 {
		return fmt.Errorf("no worker can go on: %s", strings.Join(stuck, "; "))
	}
	for t := range s.out.Tasks {
		if math.IsInf(s.out.Tasks[t].Begin, 1) {
			s.out.Tasks[t] = Task{Worker: -1}
		}
	}
	return nil
}

// criticalPath returns what Prediction.CriticalPath says, before the run.
func (s *simulation) criticalPath() float64 {
	p := s.plan
	end := make([]float64, len(p.Tasks))
	rate := s.each() // that of one worker
	for t := range p.Tasks {
		var from float64
		for _, v := range p.Deps.Preds(t) {
			from = max(from, end[v])
		}
		// A worker alone may take less than several that share phases.
		first, last := tiles(&p.Tasks[t])
		var alone, shared float64
		for phase := range s.work[t].phases() {
			var longest float64
			for tile := first; tile < last; tile++ {
				var k worker
				s.begin(&k, t, tile, phase)
				longest = max(longest, k.until, k.bytes/rate)
				if phase == 0 {
					s.begin(&k, t, tile, -1)
					alone += max(k.until, k.bytes/rate)
				}
			}
			shared += longest
		}
		end[t] = from + min(alone, shared)
	}
	if len(end) == 0 {
		return 0
	}
	return slices.Max(end)
}
