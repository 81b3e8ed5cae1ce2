// Package planpage records some runs of an example's training step, and writes the page of its plan.
package planpage

import (
	"flag"
	"fmt"
	"io"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/timeline"
)

// Flag makes a flag of how many runs a recorder records.
func Flag(f *flag.FlagSet, runs *int) {
	f.IntVar(runs, "recorded", 10, "how many training `steps`, behind five, are recorded for pages, pictures and traces of the training plan")
}

// Recorder returns a recorder of some runs of each plan, behind five that are not recorded. For a page that
// is served, it keeps the newest run, too.
func Recorder(runs int, served bool) *profile.Recorder {
	return profile.New(profile.Config{Warmup: 5, Runs: runs, Newest: served})
}

// Fastest returns the timeline of the fastest of the recorded runs of a step; an empty one if none was
// recorded.
func Fastest(r *profile.Recorder, step *opgen.Program) *timeline.Timeline {
	whole := r.Whole(step.Plan())
	begins, ends := map[uint64]float64{}, map[uint64]float64{}
	for _, spans := range whole.Workers {
		for i := range spans {
			s := &spans[i]
			if begin, ok := begins[s.Run]; !ok || s.Begin < begin {
				begins[s.Run] = s.Begin
			}
			ends[s.Run] = max(ends[s.Run], s.End)
		}
	}
	fastest := uint64(0)
	for run, end := range ends {
		if took := end - begins[run] - (ends[fastest] - begins[fastest]); took < 0 || took == 0 && run < fastest {
			fastest = run
		}
	}
	return r.Timeline(step.Plan(), int(fastest))
}

// Write writes the page of a step's plan, with the fastest recorded run and all recorded runs, and with
// further timelines. It measures the rates of this machine with a number of workers, which takes about a
// second.
func Write(w io.Writer, r *profile.Recorder, step *opgen.Program, workers int, more ...*timeline.Timeline) error {
	page, err := about(step, workers)
	if err != nil {
		return err
	}
	fastest, whole := Fastest(r, step), r.Whole(step.Plan())
	fastest.Name, whole.Name = "fastest step", "all recorded steps"
	page.Timelines = append([]*timeline.Timeline{fastest, whole}, more...)
	return draw.HTML(w, page)
}

// about returns the page of a step's plan, without runs.
func about(step *opgen.Program, workers int) (page draw.Page, err error) {
	work, err := cost.Work(step.Graph(), step.Plan())
	if err != nil {
		return page, err
	}
	machine := cost.MeasureMachine(workers)
	page = draw.Page{Plan: step.Plan(), Work: work, Machine: simulate.Machine{Rate: machine.F32 / float64(workers), Bandwidth: machine.Bandwidth}}
	for _, o := range catalogue.Operators() {
		page.Operators = append(page.Operators, &o.Operator)
	}
	return page, nil
}

// Live is the page of a step's plan while a training runs.
type Live struct {
	*draw.Live
	recorder *profile.Recorder
	session  *opgen.Session
	step     *opgen.Program
}

// NewLive returns the page of a step's plan, for a server. It measures the machine as Write does.
func NewLive(r *profile.Recorder, s *opgen.Session, step *opgen.Program, workers int) (*Live, error) {
	page, err := about(step, workers)
	if err != nil {
		return nil, err
	}
	l, err := draw.NewLive(page)
	return &Live{l, r, s, step}, err
}

// Show shows the newest run of the step, which was a step of the training with a loss, if a browser asked for
// the page since the last one. It does nothing if l is nil.
func (l *Live) Show(step int, loss string) error {
	if l == nil || !l.Asked() {
		return nil
	}
	newest, memory := l.recorder.Newest(l.step.Plan()), l.session.Memory()
	newest.Name = fmt.Sprintf("step %d", step)
	mebibytes := func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	return l.Live.Show([]draw.Fact{{Name: "step", Value: fmt.Sprint(step)}, {Name: "loss", Value: loss},
		{Name: "memory of tensors", Value: mebibytes(memory.Used)}, {Name: "most memory of tensors so far", Value: mebibytes(memory.Peak)}}, newest)
}
