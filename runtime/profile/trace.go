package profile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
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
	Args     map[string]any `json:"args,omitempty"`
}

// WriteTrace writes everything that was recorded as JSON for Perfetto or chrome://tracing: a process for
// each plan, a lane for each worker, and an event for each range, with the numbers of its run and task.
func (r *Recorder) WriteTrace(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
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
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	for pid, rec := range r.plans {
		named := func(what string, tid int, name string) {
			write(traceEvent{Name: what, Phase: "M", Process: pid, Thread: tid, Args: map[string]any{"name": name}})
		}
		named("process_name", 0, "plan "+rec.plan.Name)
		for tid := range rec.workers {
			named("thread_name", tid, fmt.Sprintf("worker %d", tid))
			for _, e := range rec.workers[tid].events {
				t := &rec.plan.Tasks[e.task]
				args := map[string]any{"run": e.run, "task": e.task, "range": fmt.Sprintf("%v of %d", e.at, t.Over)}
				category := "builtin"
				if t.Call >= 0 {
					category = rec.plan.Calls[t.Call].Phase
					args["step"] = t.Step
				}
				if t.Group != nil {
					category = string(t.Group.Form)
				}
				write(traceEvent{Name: rec.plan.Label(e.task), Category: category, Phase: "X",
					Begin: micros(e.begin), Duration: micros(e.end - e.begin), Process: pid, Thread: tid, Args: args})
			}
		}
	}
	if len(r.plans) == 0 {
		out.WriteString(separator)
	}
	out.WriteString("\n]}\n")
	if failed != nil {
		return fmt.Errorf("profile: %w", failed)
	}
	return out.Flush()
}
