package opgen_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/rmsprop"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestSetUpdates changes what the caller of an optimizer passes: the updates of all weights have the new
// value from that run on, in the same plan.
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
		wantError(t, step.Run(t.Context(), opgen.SetUpdates(sgd.SlotSgdV, 0.5)), "opgen: program training: want an optimizer with the argument sgd_v, got none")
		wantError(t, step.Run(t.Context(), opgen.SetUpdates(rmsprop.SlotRate, 1)), "operator rmsprop, task update, slot rate: want a value of type float64, got int")
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

// TestWrongRate checks that a mistake in the attributes of an optimizer is one error, at the line that makes
// the optimizer.
func TestWrongRate(t *testing.T) {
	g := graph.New(1)
	x, y := g.Input("x", dtype.F32, 4, 3), g.Input("y", dtype.F32, 4, 2)
	hidden := linear.Apply(g, linear.Defaults(5), x)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(2), hidden)), mse.Label(y))
	_, _, line, _ := runtime.Caller(0)
	optimizer := sgd.Optimizer(sgd.Defaults(-0.2))
	_, err := graph.Training(g, loss, optimizer)
	want := fmt.Sprintf("updates_test.go:%d: node linear.weight.sgd: operator sgd: attribute lr: want at least 0, got -0.2", line+1)
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestTrainWithoutSamples trains with a batch of no samples: the gradients of weights are zeros, so the model
// stays.
func TestTrainWithoutSamples(t *testing.T) {
	t.Parallel()
	model := func(rows int) (g *graph.Graph, x, out graph.Tensor) {
		g = graph.New(1)
		x = g.Input("x", dtype.F32, rows, 3)
		h := linear.Apply(g, linear.Defaults(4).WithActivation(activation.Relu), x, graph.Named("hidden"))
		h = layernorm.Apply(g, layernorm.Defaults(attr.ListOf(1)), h, graph.Named("norm"))
		return g, x, linear.Apply(g, linear.Defaults(2), h, graph.Named("top"))
	}
	g, x, out := model(0)
	y := g.Input("y", dtype.F32, 0, 2)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(out), mse.Label(y))
	s := open(t)
	step, err := s.Training(t.Context(), g, loss, sgd.Optimizer(sgd.Defaults(0.5)))
	if err != nil {
		t.Fatal(err)
	}
	one, row, result := model(1)
	test, err := s.Inference(t.Context(), one, result)
	if err != nil {
		t.Fatal(err)
	}
	results := func() []float32 {
		if err := test.Run(t.Context(), opgen.With(row, []float32{1, -2, 3})); err != nil {
			t.Fatal(err)
		}
		v, err := opgen.Fetch[float32](test, result)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := results()
	for range 2 {
		if err := step.Run(t.Context(), opgen.With(x, []float32{}), opgen.With(y, []float32{})); err != nil {
			t.Fatal(err)
		}
	}
	if after := results(); !slices.Equal(after, before) || before[0] == 0 {
		t.Errorf("the model gave %v, and gives %v", before, after)
	}
	if l, err := opgen.Fetch[float32](step, loss); err != nil || !slices.Equal(l, []float32{0}) {
		t.Errorf("the loss is %v, %v", l, err)
	}
}
