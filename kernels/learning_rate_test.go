package kernels_test

import (
	"math"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/learningrate"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// TestLearningRate compares the rate of each step with the definition of its schedule, and what follows from
// options left out.
func TestLearningRate(t *testing.T) {
	t.Parallel()
	step, exponential := learningrate.NewSchedule(learningrate.ScheduleKindStep), learningrate.NewSchedule(learningrate.ScheduleKindExponential)
	linear, cosine := learningrate.NewSchedule(learningrate.ScheduleKindLinear), learningrate.NewSchedule(learningrate.ScheduleKindCosine)
	for name, x := range map[string]struct {
		schedule learningrate.Schedule
		want     func(step float64) float64 // for a base of 2
	}{
		"no milestones": {step, func(float64) float64 { return 2 }},
		"milestones": {step.WithMilestones(attr.ListOf(6, 0, 3, 3)).WithGamma(0.5), func(s float64) float64 {
			switch {
			case s < 3:
				return 1
			case s < 6:
				return 0.25
			}
			return 0.125
		}},
		"a warm-up with milestones": {step.WithMilestones(attr.ListOf(1)).WithWarmup(4), func(s float64) float64 {
			return []float64{0.5, 0.1, 0.15}[min(int(s), 2)] + 0.05*max(min(s-2, 1), 0)
		}},
		"exponential": {exponential, func(s float64) float64 { return 2 * math.Pow(0.1, s) }},
		"exponential within bounds": {exponential.WithWarmup(2).WithBounds(attr.ListOf(0.01, 1.5)), func(s float64) float64 {
			return []float64{1, 1.5, 1.5, 0.2, 0.02, 0.01}[min(int(s), 5)]
		}},
		"linear": {linear.WithSteps(5), func(s float64) float64 { return 2 * max(1-s/5, 0) }},
		"linear within bounds": {linear.WithSteps(6).WithWarmup(2).WithBounds(attr.ListOf(1.0, 2.0)), func(s float64) float64 {
			return []float64{1, 2, 2, 1.75, 1.5, 1.25, 1}[min(int(s), 6)]
		}},
		"cosine":                   {cosine.WithSteps(4), func(s float64) float64 { return 1 + math.Cos(math.Pi*min(s/4, 1)) }},
		"cosine within bounds":     {cosine.WithSteps(4).WithBounds(attr.ListOf(1.0, 9.0)), func(s float64) float64 { return 1 + (1+math.Cos(math.Pi*min(s/4, 1)))/2 }},
		"a warm-up of all steps":   {linear.WithSteps(3).WithWarmup(3), func(s float64) float64 { return []float64{2. / 3, 4. / 3, 2, 2, 0}[min(int(s), 4)] }},
		"a warm-up behind the end": {linear.WithSteps(2).WithWarmup(4), func(s float64) float64 { return []float64{0.5, 1, 1.5, 2, 2, 0}[min(int(s), 5)] }},
	} {
		g := graph.New(1)
		rate := learningrate.Apply(g, learningrate.Defaults(2, x.schedule).WithDataType(dtype.F64))
		prog, err := graph.Whole(g, rate)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Build(prog)
		if err != nil {
			t.Fatal(err)
		}
		var tasks task.Registry
		if err := catalogue.Register(&tasks); err != nil {
			t.Fatal(err)
		}
		in, err := engine.New(&tasks, cpu.New(cpu.Config{Workers: 1}), engine.Config{}).Load(plan)
		if err != nil {
			t.Fatal(err)
		}
		for s := range 9 {
			in.SetStep(uint64(s))
			if err := in.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := engine.Fetch[float64](in, rate.Name())
			if err != nil {
				t.Fatal(err)
			}
			if want := x.want(float64(s)); !(math.Abs(got[0]-want) <= 1e-12) {
				t.Errorf("%s: the rate of step %d is %v, want %v", name, s, got[0], want)
			}
		}
	}
}

// TestLearningRateErrors gives schedules that cannot be followed.
func TestLearningRateErrors(t *testing.T) {
	t.Parallel()
	linear := learningrate.NewSchedule(learningrate.ScheduleKindLinear)
	for want, s := range map[string]learningrate.Schedule{
		"operator learning_rate: attribute schedule: want a value made by NewSchedule, got a literal":              {Kind: learningrate.ScheduleKindStep},
		"operator learning_rate: attribute schedule.kind: want one of STEP, EXPONENTIAL, LINEAR, COSINE, got none": learningrate.NewSchedule(0),
		"operator learning_rate: want steps, the number that LINEAR and COSINE need":                               linear,
		"operator learning_rate: attribute schedule.gamma: want at most 1, got 1.5":                                linear.WithGamma(1.5),
		"operator learning_rate: attribute schedule.bounds: want 2 values, got 1":                                  linear.WithBounds(attr.ListOf(1.0)),
		"operator learning_rate: attribute schedule.milestones: want at least 0, got -1":                           linear.WithMilestones(attr.ListOf(3, -1)),
		"operator learning_rate: attribute schedule.steps: want at least 1, got 0":                                 linear.WithSteps(0),
	} {
		if got := applyError(learningrate.Defaults(1, s)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// applyError returns what applying learning_rate reports.
func applyError(a learningrate.Attrs) string {
	g := graph.New(1)
	learningrate.Apply(g, a)
	if err := g.Err(); err != nil {
		_, message, _ := strings.Cut(err.Error(), "node learning_rate: ")
		return message
	}
	return "no error"
}
