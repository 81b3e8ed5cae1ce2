// Package profile records when workers run which ranges of which tasks, and computes statistics and a trace.
package profile

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
)

// Config says what a Recorder records.
type Config struct {
	// Warmup is how many runs of each plan pass before recording begins.
	Warmup int
	// Runs is the number of runs of each plan that are recorded, at least 1. Other runs take no memory and
	// hardly any time.
	Runs int
	// Newest keeps the newest run of each plan besides, whether it is one of those recorded or not.
	Newest bool
}

// Recorder is an observer of an engine: it records the ranges that workers run. Results may be read
// between runs.
type Recorder struct {
	warmup, runs uint64
	newest       bool
	start        time.Time

	mu    sync.Mutex
	plans []*recording
}

// recording holds what was recorded of a loaded plan.
type recording struct {
	plan    *plan.Plan
	workers []lane
}

// lane holds what one worker did. Only that worker writes it.
type lane struct {
	events []event
	newest []event  // those of the last run in which the worker ran anything, if they are kept
	_      [80]byte // keeps lanes of different workers in cache lines of their own
}

// event is the run of a range. Times are since the recorder's start.
type event struct {
	task       int
	run        uint64
	at         op.Range
	phase      int
	begin, end time.Duration
}

// New returns a recorder.
func New(c Config) *Recorder {
	return &Recorder{warmup: uint64(max(c.Warmup, 0)), runs: uint64(max(c.Runs, 1)), newest: c.Newest, start: time.Now()}
}

// Profiling says which runs the recorder measures. Tasks take it as their argument from "profiling".
func (r *Recorder) Profiling() task.Profiling {
	return task.Profiling{On: true, Warmup: int(r.warmup), Measure: int(r.runs)}
}

// Observe returns the function that records the ranges of a plan's tasks. Engines call it when they load a
// plan. Of a plan that is loaded several times, the last one counts.
func (r *Recorder) Observe(p *plan.Plan, workers int) func(engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := &recording{plan: p, workers: make([]lane, workers)}
	if i := slices.IndexFunc(r.plans, func(rec *recording) bool { return rec.plan == p }); i >= 0 {
		r.plans[i] = rec
	} else {
		r.plans = append(r.plans, rec)
	}
	return func(e engine.Event) {
		l := &rec.workers[e.Worker]
		if r.newest {
			if len(l.newest) > 0 && l.newest[0].run != e.Step {
				l.newest = l.newest[:0]
			}
			l.newest = append(l.newest, event{e.Task, e.Step, e.Range, e.Phase, e.Begin.Sub(r.start), e.End.Sub(r.start)})
		}
		if e.Step < r.warmup || e.Step-r.warmup >= r.runs {
			return
		}
		l.events = append(l.events, event{e.Task, e.Step - r.warmup, e.Range, e.Phase, e.Begin.Sub(r.start), e.End.Sub(r.start)})
	}
}

// Time is how long something took in several runs.
type Time struct {
	Runs     int
	Mean     time.Duration
	Spread   time.Duration // the standard deviation of the runs
	Shortest time.Duration
	Longest  time.Duration
}

// Task is how long a task of a plan took.
type Task struct {
	Number int // in the plan
	Label  string
	// Elapsed is the time from the beginning of a task's first range to the end of its last one.
	Elapsed Time
	// Busy is the time of all its ranges together, on all workers.
	Busy   Time
	Ranges int // of one run
}

// span is when a task ran, in one run: from the beginning of its first range to the end of its last. busy is
// the time of all its ranges.
type span struct {
	begin, end, busy time.Duration
	ranges           int
}

// spans returns when each task ran in each run; in a run that was stopped before, a task has no ranges.
func (r *Recorder) spans(p *plan.Plan) [][]span {
	runs := make([][]span, len(p.Tasks))
	for _, e := range r.events(p) {
		for uint64(len(runs[e.task])) <= e.run {
			runs[e.task] = append(runs[e.task], span{begin: math.MaxInt64})
		}
		s := &runs[e.task][e.run]
		s.begin, s.end, s.busy, s.ranges = min(s.begin, e.begin), max(s.end, e.end), s.busy+e.end-e.begin, s.ranges+1
	}
	return runs
}

// Tasks returns the times of a plan's tasks that were recorded, in the plan's order.
func (r *Recorder) Tasks(p *plan.Plan) []Task {
	var out []Task
	for i, runs := range r.spans(p) {
		var elapsed, busy []time.Duration
		ranges := 0
		for _, s := range runs {
			if s.ranges > 0 {
				elapsed, busy, ranges = append(elapsed, s.end-s.begin), append(busy, s.busy), s.ranges
			}
		}
		if len(busy) > 0 {
			out = append(out, Task{Number: i, Label: p.Label(i), Elapsed: Summarize(elapsed), Busy: Summarize(busy), Ranges: ranges})
		}
	}
	return out
}

// Sum returns the time that some of a plan's tasks took together: in each run, the sum of the times that
// passed from the beginning to the end of each.
func (r *Recorder) Sum(p *plan.Plan, counts func(number int) bool) Time {
	var sums []time.Duration
	for i, runs := range r.spans(p) {
		for n, s := range runs {
			for len(sums) <= n {
				sums = append(sums, 0)
			}
			if counts(i) && s.ranges > 0 {
				sums[n] += s.end - s.begin
			}
		}
	}
	return Summarize(sums)
}

// events returns what was recorded of a plan, worker by worker.
func (r *Recorder) events(p *plan.Plan) []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []event
	for _, rec := range r.plans {
		if rec.plan == p {
			for w := range rec.workers {
				out = append(out, rec.workers[w].events...)
			}
		}
	}
	return out
}

// Summarize returns the mean and the spread of times.
func Summarize(times []time.Duration) Time {
	if len(times) == 0 {
		return Time{}
	}
	t := Time{Runs: len(times), Shortest: slices.Min(times), Longest: slices.Max(times)}
	var sum float64
	for _, d := range times {
		sum += float64(d)
	}
	mean := sum / float64(len(times))
	var squares float64
	for _, d := range times {
		squares += (float64(d) - mean) * (float64(d) - mean)
	}
	t.Mean, t.Spread = time.Duration(mean), time.Duration(math.Sqrt(squares/float64(len(times))))
	return t
}

// Work returns the measured work of a plan's tasks, for predictions of other runs: for each task, the times
// of all its ranges in the recorded run in which they are shortest together. Of a task whose first range
// computed all phases, the times of the others are not known. It returns an error if a task was not recorded.
func (r *Recorder) Work(p *plan.Plan) ([]simulate.Work, error) {
	work := make([]simulate.Work, len(p.Tasks))
	found := make([]bool, len(p.Tasks))
	best := make([]uint64, len(p.Tasks)) // run
	for i, runs := range r.spans(p) {
		for n, s := range runs {
			if seconds := s.busy.Seconds(); s.ranges > 0 && (!found[i] || seconds < work[i].Seconds) {
				work[i].Seconds, found[i], best[i] = seconds, true, uint64(n)
			}
		}
	}
	for i := range found {
		if !found[i] && p.Tasks[i].Ranges() > 0 {
			return nil, fmt.Errorf("profile: plan %s, task %d, %s: want a recorded run, got none", p.Name, i, p.Label(i))
		}
	}
	counts := make([]int, len(p.Tasks))
	for _, e := range r.events(p) {
		if e.run != best[e.task] || e.phase < 0 || p.Tasks[e.task].Tile > 0 {
			continue
		}
		w, g := &work[e.task], p.Tasks[e.task].Grid()
		for len(w.Ranges) <= e.phase {
			w.Ranges = append(w.Ranges, make([]float64, g.Tiles()))
		}
		w.Ranges[e.phase][g.Number(e.at)] += (e.end - e.begin).Seconds()
		counts[e.task]++
	}
	for i := range work { // backends may report a step at once
		if w := &work[i]; counts[i] != len(w.Ranges)*p.Tasks[i].Ranges() {
			w.Ranges = nil
		}
	}
	return work, nil
}
