package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// traceEvent is an event of the Trace Event Format, which [Perfetto] and chrome://tracing show.
//
// [Perfetto]: https://ui.perfetto.dev
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Begin    float64        `json:"ts"` // microseconds
	Duration float64        `json:"dur"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Color    string         `json:"cname,omitempty"` // of chrome://tracing
	Args     map[string]any `json:"args,omitempty"`
}

// WriteTrace writes timelines as JSON for Perfetto or chrome://tracing: a process for each timeline, a lane
// for each worker, and an event for each span. That of a range has the numbers of its run and task. That of a
// wait has the category "wait", and says for which worker and which task the worker waits.
func WriteTrace(w io.Writer, timelines ...*Timeline) error {
	out := bufio.NewWriter(w)
	separator := "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
	var failed error
	write := func(e traceEvent) {
		data, err := json.Marshal(e)
		if err != nil && failed == nil {
			failed = err
		}
		out.WriteString(separator)
		out.Write(data)
		separator = ",\n"
	}
	for pid, t := range timelines {
		named := func(what string, tid int, name string) {
			write(traceEvent{Name: what, Phase: "M", Process: pid, Thread: tid, Args: map[string]any{"name": name}})
		}
		named("process_name", 0, t.Name)
		for tid := range t.Workers {
			named("thread_name", tid, fmt.Sprintf("worker %d", tid))
			for i := range t.Workers[tid] {
				e := t.event(&t.Workers[tid][i])
				e.Process, e.Thread = pid, tid
				write(e)
			}
		}
	}
	if len(timelines) == 0 {
		out.WriteString(separator)
	}
	out.WriteString("\n]}\n")
	if failed != nil {
		return fmt.Errorf("timeline: %w", failed)
	}
	return out.Flush()
}

// micros returns seconds in microseconds, to the nanosecond below which clocks do not measure.
func micros(s float64) float64 { return math.Round(s*1e9) / 1e3 }

// event returns the event of a span.
func (t *Timeline) event(s *Span) traceEvent {
	begin := micros(s.Begin)
	e := traceEvent{Name: t.Describe(s), Phase: "X", Begin: begin, Duration: micros(s.End - s.Begin), Args: map[string]any{"run": s.Run, "task": s.Task}}
	switch s.Kind {
	case Wait:
		e.Category, e.Color = "wait", "terrible"
		e.Args["worker"] = s.For
		return e
	case Signal:
		e.Category = "signal"
		return e
	}
	task := &t.Plan.Tasks[s.Task]
	e.Args["range"] = fmt.Sprintf("%v of %d", s.Range, task.Over)
	e.Category = "builtin"
	if task.Call >= 0 {
		e.Category = t.Plan.Calls[task.Call].Phase
		e.Args["step"] = task.Step
	}
	if task.Group != nil {
		e.Category = string(task.Group.Form)
	}
	return e
}
