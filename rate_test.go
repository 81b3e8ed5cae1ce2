package opgen_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/rmsprop"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// The learning rate is an input of the optimizer, so it may differ from step to step. One plan serves all of them.
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

// The rate of rmsprop is a value that its caller passes. SetUpdates changes it between runs, in the updates of all weights.
func ExampleSetUpdates() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx := context.Background()
		g, x, z := doubles(2)
		y := g.Input("y", dtype.F32, 2, 1)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
		step, err := s.Training(ctx, g, loss, rmsprop.Optimizer(rmsprop.Defaults(), 0.1), z)
		if err != nil {
			return err
		}
		for i := range 300 {
			rate := 0.1 * (1 - float64(i)/300)
			err := step.Run(ctx, opgen.With(x, []float32{1, 2}), opgen.With(y, []float32{2, 4}), opgen.SetUpdates(rmsprop.SlotRate, rate))
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

// TestFedRate trains with a rate that is an attribute, and with the same rate fed: losses are equal bit for bit. Then the fed
// rate becomes 0, in the same plan, and the loss stays what it is.
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

// TestSetUpdates changes what the caller of an optimizer passes: the updates of all weights have the new value from that run
// on, in the same plan.
func TestSetUpdates(t *testing.T) {
	t.Parallel()
	train := func(first rmsprop.Rate, rates ...float64) (losses []float64) {
		g := graph.New(1)
		x, y := g.Input("x", dtype.F64, 4, 3), g.Input("y", dtype.F64, 4, 2)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(2), x)), mse.Label(y))
		step, err := open(t).Training(t.Context(), g, loss, rmsprop.Optimizer(rmsprop.Defaults(), first))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rates {
			values := []opgen.Value{opgen.With(x, []float64{1, 2, 3, -1, 0, 1, 2, 2, 0, 1, -3, 1}), opgen.With(y, []float64{1, 0, 0, 1, 2, 1, 0, 0})}
			if r >= 0 {
				values = append(values, opgen.SetUpdates(rmsprop.SlotRate, r))
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
		want(t, step.Run(t.Context(), opgen.SetUpdates(sgd.SlotSgdV, 0.5)), "opgen: program training: want an optimizer with the argument sgd_v, got none")
		want(t, step.Run(t.Context(), opgen.SetUpdates(rmsprop.SlotRate, 1)), "operator rmsprop, task update, slot rate: want a value of type float64, got int")
		return losses
	}
	const keep = -1
	fixed, changed := train(0.01, keep, keep, keep), train(9, 0.01, keep, 0.01, 0, keep)
	if !slices.Equal(fixed, changed[:3]) || fixed[0] == fixed[2] {
		t.Errorf("losses with a rate that is set are %v, want %v", changed[:3], fixed)
	}
	if changed[3] == changed[2] || changed[4] != changed[3] {
		t.Errorf("losses %v do not end with one that stays", changed)
	}
}
