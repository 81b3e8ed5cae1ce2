// Package planpage records some runs of an example's training step, and writes the page of its plan.
package planpage

import (
	"io"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/timeline"
)

// runs is how many runs are recorded.
const runs = 10

// Recorder returns a recorder of ten runs of each plan, behind five that are not recorded.
func Recorder() *profile.Recorder { return profile.New(profile.Config{Warmup: 5, Runs: runs}) }

// Fastest returns the timeline of the fastest of the recorded runs of a step; an empty one if none was
// recorded.
func Fastest(r *profile.Recorder, step *opgen.Program) *timeline.Timeline {
	found := r.Timeline(step.Plan(), 0)
	for run := 1; run < runs; run++ {
		if t := r.Timeline(step.Plan(), run); t.Seconds() > 0 && t.Seconds() < found.Seconds() {
			found = t
		}
	}
	return found
}

// Write writes the page of a step's plan, with the fastest recorded run, and with further timelines. It
// measures the rates of this machine with a number of workers, which takes about a second.
func Write(w io.Writer, r *profile.Recorder, step *opgen.Program, workers int, more ...*timeline.Timeline) error {
	work, err := cost.Work(step.Graph(), step.Plan())
	if err != nil {
		return err
	}
	machine := cost.MeasureMachine(workers)
	page := draw.Page{
		Plan: step.Plan(), Timelines: append([]*timeline.Timeline{Fastest(r, step)}, more...), Work: work,
		Machine: simulate.Machine{Rate: machine.F32 / float64(workers), Bandwidth: machine.Bandwidth},
	}
	for _, o := range catalogue.Operators() {
		page.Operators = append(page.Operators, &o.Operator)
	}
	return draw.HTML(w, page)
}
