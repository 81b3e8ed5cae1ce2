// Package timeline holds what workers did in runs of a plan, or are predicted to do: which ranges of which
// tasks they ran, and what they waited for. It writes timelines for Perfetto.
package timeline

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/schedule"
)

// Kind is the activity of a worker in a span.
type Kind uint8

const (
	Run    Kind = iota // runs a range of a task
	Wait               // waits for another worker, or for the end of a shared task
	Signal             // tells others where it is
)

// Span is an interval of time in which a worker does one thing.
type Span struct {
	Kind Kind
	// Task is the task that runs. For a wait, it is the task whose end the worker awaits; for a signal, the
	// last task before it.
	Task int
	// For is the worker for which a wait waits; -1 if all workers share the task.
	For        int
	Range      op.Range // that runs
	Run        uint64   // number of the run
	Begin, End float64  // in seconds
}

// Seconds returns how long the span takes.
func (s *Span) Seconds() float64 { return s.End - s.Begin }

// Timeline is the spans of all workers in one run of a plan, or in several.
type Timeline struct {
	// Name is the title of the timeline, such as "plan training".
	Name    string
	Plan    *plan.Plan
	Workers [][]Span // per worker, one after the other
}

// Seconds returns the time from the beginning of the first span to the end of the last one.
func (t *Timeline) Seconds() float64 {
	begin, end, any := 0.0, 0.0, false
	for _, spans := range t.Workers {
		for i := range spans {
			if !any || spans[i].Begin < begin {
				begin = spans[i].Begin
			}
			if !any || spans[i].End > end {
				end = spans[i].End
			}
			any = true
		}
	}
	return end - begin
}

// Total returns how long a worker is in spans of a kind.
func (t *Timeline) Total(worker int, k Kind) float64 {
	var sum float64
	for i := range t.Workers[worker] {
		if s := &t.Workers[worker][i]; s.Kind == k {
			sum += s.Seconds()
		}
	}
	return sum
}

// Longest returns the longest span of a kind of a worker; nil if there is none.
func (t *Timeline) Longest(worker int, k Kind) (longest *Span) {
	for i := range t.Workers[worker] {
		if s := &t.Workers[worker][i]; s.Kind == k && (longest == nil || s.Seconds() > longest.Seconds()) {
			longest = s
		}
	}
	return longest
}

// Describe returns a text about a span, such as "waits for worker 1: fc1: linear.forward".
func (t *Timeline) Describe(s *Span) string {
	label := t.label(s.Task)
	switch {
	case s.Kind == Signal:
		return "signals " + label
	case s.Kind == Wait && s.For < 0:
		return "waits for the end of " + label
	case s.Kind == Wait:
		return fmt.Sprintf("waits for worker %d: %s", s.For, label)
	}
	return label
}

func (t *Timeline) label(task int) string {
	if task < 0 || task >= len(t.Plan.Tasks) {
		return "the beginning"
	}
	return t.Plan.Label(task)
}

// Awaited returns the task that is over when a worker has passed a position of its queue: the last one
// before the position; -1 if there is none.
func Awaited(s *schedule.Schedule, worker, position int) int {
	queue := s.Queues[worker]
	for i := min(position, len(queue)) - 1; i >= 0; i-- {
		if kind, n := queue[i].Decode(); kind == schedule.Run || kind == schedule.Share {
			return n
		}
	}
	return -1
}

// AddWaits adds waits to a timeline of runs that were measured, which has ranges only. Where the queue of a
// worker has waits between two tasks, the time between their ranges is one wait: for that task, of those
// awaited, which ended last.
func (t *Timeline) AddWaits() {
	s := &t.Plan.Schedule
	if s.Workers() != len(t.Workers) {
		return // the plan was rescheduled, and nothing says how
	}
	ends := map[key]float64{}
	for _, spans := range t.Workers {
		for i := range spans {
			k := key{spans[i].Run, spans[i].Task}
			ends[k] = max(ends[k], spans[i].End)
		}
	}
	for w, spans := range t.Workers {
		var out []Span
		for len(spans) > 0 {
			n := slices.IndexFunc(spans, func(x Span) bool { return x.Run != spans[0].Run })
			if n < 0 {
				n = len(spans)
			}
			out = append(out, withWaits(s, w, spans[:n], ends)...)
			spans = spans[n:]
		}
		t.Workers[w] = out
	}
}

type key struct {
	run  uint64
	task int
}

// withWaits adds waits to the ranges of a worker in one run.
func withWaits(s *schedule.Schedule, w int, spans []Span, ends map[key]float64) []Span {
	out := make([]Span, 0, 2*len(spans))
	next := 0
	var wait *Span // for what the worker waits before its next task
	latest := 0.0
	for _, entry := range s.Queues[w] {
		found := Span{Kind: Wait, For: -1, Task: -1, Run: spans[0].Run}
		switch kind, n := entry.Decode(); kind {
		case schedule.WaitFor:
			found.For = int(s.Waits[n].Worker)
			found.Task = Awaited(s, found.For, int(s.Waits[n].Position))
		case schedule.WaitShared:
			found.Task = n
		case schedule.Run, schedule.Share:
			first := next
			for ; next < len(spans) && spans[next].Task == n; next++ {
				if next == first && wait != nil && len(out) > 0 && spans[next].Begin > out[len(out)-1].End {
					wait.Begin, wait.End = out[len(out)-1].End, spans[next].Begin
					out = append(out, *wait)
				}
				out = append(out, spans[next])
			}
			if next > first {
				wait, latest = nil, 0
			}
			continue
		default:
			continue
		}
		if end := ends[key{found.Run, found.Task}]; wait == nil || end > latest {
			wait, latest = &found, end
		}
	}
	return append(out, spans[next:]...) // what the queue does not have
}
