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
		all = append(all, rec.recorded(anyRun))
	}
	r.mu.Unlock()
	return timeline.WriteTrace(w, all...)
}

// Timeline returns what workers did in one of the recorded runs of a plan, and what they waited for. Runs are
// counted from 0, without those before recording began. It returns nil if the plan was not recorded.
func (r *Recorder) Timeline(p *plan.Plan, run int) *timeline.Timeline {
	return r.timeline(p, func(rec *recording) *timeline.Timeline {
		return rec.recorded(func(n uint64) bool { return n == uint64(run) })
	})
}

// Whole returns what workers did in all recorded runs of a plan, one after the other. It returns nil if the
// plan was not recorded.
func (r *Recorder) Whole(p *plan.Plan) *timeline.Timeline {
	return r.timeline(p, func(rec *recording) *timeline.Timeline { return rec.recorded(anyRun) })
}

// Newest returns what workers did in the newest run of a plan, if the recorder keeps that. Before the first
// run there are no spans. It returns nil if the plan was not loaded.
func (r *Recorder) Newest(p *plan.Plan) *timeline.Timeline {
	return r.timeline(p, func(rec *recording) *timeline.Timeline {
		newest := uint64(0)
		for w := range rec.workers {
			if events := rec.workers[w].newest; len(events) > 0 {
				newest = max(newest, events[0].run)
			}
		}
		return rec.timeline(func(l *lane) []event { return l.newest }, func(n uint64) bool { return n == newest })
	})
}

// timeline returns a timeline of what was recorded of a plan, or nil.
func (r *Recorder) timeline(p *plan.Plan, of func(*recording) *timeline.Timeline) *timeline.Timeline {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.plans {
		if rec.plan == p {
			return of(rec)
		}
	}
	return nil
}

func anyRun(uint64) bool { return true }

// recorded returns the timeline of some of the recorded runs.
func (rec *recording) recorded(counts func(run uint64) bool) *timeline.Timeline {
	return rec.timeline(func(l *lane) []event { return l.events }, counts)
}

// timeline returns the timeline of some runs, of events of each lane.
func (rec *recording) timeline(of func(*lane) []event, counts func(run uint64) bool) *timeline.Timeline {
	t := &timeline.Timeline{Name: "plan " + rec.plan.Name, Plan: rec.plan, Workers: make([][]timeline.Span, len(rec.workers))}
	for w := range rec.workers {
		for _, e := range of(&rec.workers[w]) {
			if counts(e.run) {
				t.Workers[w] = append(t.Workers[w], timeline.Span{Task: e.task, Range: e.at, Run: e.run, Begin: e.begin.Seconds(), End: e.end.Seconds()})
			}
		}
	}
	t.AddWaits()
	return t
}
