package opgen_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/full"
	"github.com/opgen/opgen/generated/learningrate"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// The learning rate is an input of the optimizer, so it may differ from step to step. One plan serves all of
// them.
func Example_schedule() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx := context.Background()
		g, x, z := doubles(2)
		y, rate := g.Input("y", dtype.F32, 2, 1), g.Input("rate", dtype.F32)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
		step, err := s.Training(ctx, g, loss, adam.Optimizer(adam.Defaults(), graph.With(adam.SlotRate, rate)), z)
		if err != nil {
			return err
		}
		const steps = 300
		for i := range steps {
			linear := 0.1 * (1 - float32(i)/steps)
			err := step.Run(ctx, opgen.With(x, []float32{1, 2}), opgen.With(y, []float32{2, 4}), opgen.With(rate, []float32{linear}))
			if err != nil {
				return err
			}
		}
		answers, err := opgen.Fetch[float32](step, z)
		fmt.Printf("%.2f\n", answers)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [2.00 4.00]
}

// An operator gives the learning rate of each step: it grows in a warm-up, and then falls.
func Example_learningRate() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx := context.Background()
		g, x, z := doubles(2)
		y := g.Input("y", dtype.F32, 2, 1)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
		schedule := learningrate.NewSchedule(learningrate.ScheduleKindLinear).WithWarmup(2).WithSteps(5)
		rate := learningrate.Apply(g, learningrate.Defaults(0.1, schedule))
		step, err := s.Training(ctx, g, loss, adam.Optimizer(adam.Defaults(), graph.With(adam.SlotRate, rate)), rate)
		if err != nil {
			return err
		}
		for range 7 {
			if err := step.Run(ctx, opgen.With(x, []float32{1, 2}), opgen.With(y, []float32{2, 4})); err != nil {
				return err
			}
			present, err := opgen.Fetch[float32](step, rate)
			if err != nil {
				return err
			}
			fmt.Printf("%.3f ", present[0])
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 0.050 0.100 0.100 0.067 0.033 0.000 0.000
}

// TestRateOfNode trains with a node that gives the rate: one of the network's graph, and one that the
// optimizer inserts. The losses are those of the same rates fed, bit for bit, also with micro-batches. The
// loss does not depend on the node.
func TestRateOfNode(t *testing.T) {
	t.Parallel()
	schedule := learningrate.NewSchedule(learningrate.ScheduleKindStep).WithMilestones(attr.ListOf(2, 3)).WithGamma(0.5)
	attrs := learningrate.Defaults(0.25, schedule).WithDataType(dtype.F64)
	rates := []float64{0.25, 0.25, 0.125, 0.0625, 0.0625}
	build := func() (g *graph.Graph, x, y, loss graph.Tensor) {
		g = graph.New(1)
		x, y = g.Input("x", dtype.F64, 2, 3), g.Input("y", dtype.F64, 2, 2)
		return g, x, y, mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(2), x)), mse.Label(y))
	}
	with := func(rate graph.Tensor) graph.Optimizer {
		return sgd.Optimizer(sgd.Defaults(9), graph.With(sgd.SlotRate, rate))
	}
	train := func(way string) (losses []float64) {
		s := open(t)
		g, x, y, loss := build()
		var fed graph.Tensor
		var optimizer graph.Optimizer
		switch way {
		case "fed":
			fed = g.Input("rate", dtype.F64)
			optimizer = with(fed)
		case "of the optimizer":
			optimizer = func(g *graph.Graph, weights, grads []graph.Tensor) {
				with(learningrate.Apply(g, attrs))(g, weights, grads)
			}
		default:
			optimizer = with(learningrate.Apply(g, attrs))
		}
		var programs []*opgen.Program
		load := func(program *graph.Program, err error) {
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Load(t.Context(), program)
			if err != nil {
				t.Fatal(err)
			}
			programs = append(programs, p)
		}
		if way == "of a micro-batch" {
			micro, update, err := graph.Accumulation(g, loss, graph.Share{Loss: 1, Aux: 1}, optimizer)
			load(micro, err)
			load(update, err)
		} else {
			load(graph.Training(g, loss, optimizer))
		}
		for _, r := range rates {
			values := []opgen.Value{opgen.With(x, []float64{1, 2, 3, -1, 0, 1}), opgen.With(y, []float64{1, 0, 0, 1})}
			if fed.Valid() {
				values = append(values, opgen.With(fed, []float64{r}))
			}
			if err := programs[0].Run(t.Context(), values...); err != nil {
				t.Fatal(err)
			}
			for _, p := range programs[1:] {
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			l, err := opgen.Fetch[float64](programs[0], loss)
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, l...)
		}
		return losses
	}
	want := train("fed")
	for _, way := range []string{"of the graph", "of the optimizer", "of a micro-batch"} {
		if got := train(way); !slices.Equal(got, want) {
			t.Errorf("with a rate %s the losses are %v, want %v", way, got, want)
		}
	}
}

// TestRateOfBothPrograms fetches a rate from micro-batches: their number of the run differs from that of the
// update, so this is refused.
func TestRateOfBothPrograms(t *testing.T) {
	g := graph.New(1)
	x, y := g.Input("x", dtype.F64, 2, 3), g.Input("y", dtype.F64, 2, 2)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(2), x)), mse.Label(y))
	rate := learningrate.Apply(g, learningrate.Defaults(0.1, learningrate.NewSchedule(learningrate.ScheduleKindCosine).WithSteps(8)).WithDataType(dtype.F64), graph.Named("rate"))
	optimizer := sgd.Optimizer(sgd.Defaults(9), graph.With(sgd.SlotRate, rate))
	_, _, err := graph.Accumulation(g, loss, graph.Share{Loss: 1, Aux: 1}, optimizer, rate)
	const want = "node rate: want a node that either micro-batches or the update run, got one that both run, and that depends on the number of the run"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
	if _, _, err := graph.Accumulation(g, loss, graph.Share{Loss: 1, Aux: 1}, optimizer); err != nil {
		t.Errorf("not fetched: %v", err)
	}
	// A fixed number is the same in both.
	fixed := full.Apply(g, full.Defaults(attr.ListOf[int]()).WithValue(0.1).WithDataType(dtype.F64))
	optimizer = sgd.Optimizer(sgd.Defaults(9), graph.With(sgd.SlotRate, fixed))
	if _, _, err := graph.Accumulation(g, loss, graph.Share{Loss: 1, Aux: 1}, optimizer, fixed); err != nil {
		t.Errorf("a fixed rate: %v", err)
	}
}

// optimizers lists those whose rate may be fed, with a rate that is an attribute and with one that is fed.
var optimizers = map[string]struct {
	fixed func(rate float64) graph.Optimizer
	fed   func(rate graph.Tensor) graph.Optimizer
}{
	"sgd": {func(rate float64) graph.Optimizer { return sgd.Optimizer(sgd.Defaults(rate).WithMomentum(0.5)) },
		func(rate graph.Tensor) graph.Optimizer {
			return sgd.Optimizer(sgd.Defaults(9).WithMomentum(0.5), graph.With(sgd.SlotRate, rate))
		}},
	"adam": {func(rate float64) graph.Optimizer { return adam.Optimizer(adam.Defaults().WithAlpha(rate)) },
		func(rate graph.Tensor) graph.Optimizer {
			return adam.Optimizer(adam.Defaults(), graph.With(adam.SlotRate, rate))
		}},
	"adamw": {func(rate float64) graph.Optimizer { return adamw.Optimizer(adamw.Defaults().WithAlpha(rate)) },
		func(rate graph.Tensor) graph.Optimizer {
			return adamw.Optimizer(adamw.Defaults(), graph.With(adamw.SlotRate, rate))
		}},
}

// TestFedRate trains with a rate that is an attribute, and with the same rate fed: losses are equal bit for
// bit. Then the fed rate becomes 0, in the same plan, and the loss stays what it is.
func TestFedRate(t *testing.T) {
	t.Parallel()
	for name, o := range optimizers {
		train := func(rates []float64, fed bool) (losses []float64) {
			g := graph.New(1)
			x, y, rate := g.Input("x", dtype.F64, 4, 3), g.Input("y", dtype.F64, 4, 2), g.Input("rate", dtype.F64)
			loss := mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(2), x)), mse.Label(y))
			optimizer := o.fixed(rates[0])
			if fed {
				optimizer = o.fed(rate)
			}
			step, err := open(t).Training(t.Context(), g, loss, optimizer)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rates {
				values := []opgen.Value{opgen.With(x, []float64{1, 2, 3, -1, 0, 1, 2, 2, 0, 1, -3, 1}), opgen.With(y, []float64{1, 0, 0, 1, 2, 1, 0, 0})}
				if fed {
					values = append(values, opgen.With(rate, []float64{r}))
				}
				if err := step.Run(t.Context(), values...); err != nil {
					t.Fatal(err)
				}
				l, err := opgen.Fetch[float64](step, loss)
				if err != nil {
					t.Fatal(err)
				}
				losses = append(losses, l...)
			}
			return losses
		}
		constant := []float64{0.02, 0.02, 0.02, 0.02}
		want := train(constant, false)
		got := train(append(constant, 0, 0), true)
		if !slices.Equal(got[:4], want) || want[0] == want[3] {
			t.Errorf("%s: losses with a fed rate are %v, want %v", name, got[:4], want)
		}
		if got[4] == got[3] || got[5] != got[4] {
			t.Errorf("%s: losses %v do not end with one that stays", name, got)
		}
	}
}
