package profile

import (
	"io"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/timeline"
)

// WriteTrace writes everything that was recorded as JSON for Perfetto or chrome://tracing: a process for
// each plan, a lane for each worker, and an event for each range, with the numbers of its run and task, and
// for each wait between two ranges.
func (r *Recorder) WriteTrace(w io.Writer) error {
	r.mu.Lock()
	var all []*timeline.Timeline
	for _, rec := range r.plans {
		all = append(all, rec.timeline(func(uint64) bool { return true }))
	}
	r.mu.Unlock()
	return timeline.WriteTrace(w, all...)
}

// Timeline returns what workers did in one of the recorded runs of a plan, and what they waited for. Runs are
// counted from 0, without those before recording began. It returns nil if the plan was not recorded.
func (r *Recorder) Timeline(p *plan.Plan, run int) *timeline.Timeline {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.plans {
		if rec.plan == p {
			return rec.timeline(func(n uint64) bool { return n == uint64(run) })
		}
	}
	return nil
}

// timeline returns the timeline of some runs.
func (rec *recording) timeline(counts func(run uint64) bool) *timeline.Timeline {
	t := &timeline.Timeline{Name: "plan " + rec.plan.Name, Plan: rec.plan, Workers: make([][]timeline.Span, len(rec.workers))}
	for w := range rec.workers {
		for _, e := range rec.workers[w].events {
			if counts(e.run) {
				t.Workers[w] = append(t.Workers[w], timeline.Span{Task: e.task, Range: e.at, Run: e.run, Begin: e.begin.Seconds(), End: e.end.Seconds()})
			}
		}
	}
	t.AddWaits()
	return t
}
