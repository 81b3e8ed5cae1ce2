package opgen_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// stepOf runs one training step of a linear layer by an optimizer, and returns its weight and its bias.
func stepOf(t *testing.T, s *opgen.Session, optimizer graph.Optimizer) (weight, bias []float64, err error) {
	t.Helper()
	g := graph.New(1)
	x, y := g.Input("x", dtype.F64, 1, 2), g.Input("y", dtype.F64, 1, 2)
	z := linear.Apply(g, linear.Defaults(2), x, graph.Named("layer"))
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
	of := func(slot linear.Slot) graph.Tensor { return z.Node().Tensor(int(slot)) }
	step, err := s.Training(t.Context(), g, loss, optimizer)
	if err != nil {
		return nil, nil, err
	}
	values := []opgen.Value{opgen.With(x, []float64{1, 2}), opgen.With(y, []float64{3, 4}),
		opgen.With(of(linear.SlotWeight), []float64{1, 2, 3, 4}), opgen.With(of(linear.SlotBias), []float64{5, 6})}
	if err := step.Run(t.Context(), values...); err != nil {
		return nil, nil, err
	}
	if weight, err = opgen.Fetch[float64](step, of(linear.SlotWeight)); err != nil {
		return nil, nil, err
	}
	bias, err = opgen.Fetch[float64](step, of(linear.SlotBias))
	return weight, bias, err
}

// TestGroups gives weights to groups: each is updated as the first group says that takes it.
func TestGroups(t *testing.T) {
	t.Parallel()
	fast, slow := sgd.Optimizer(sgd.Defaults(0.5)), sgd.Optimizer(sgd.Defaults(0.125))
	fastWeight, fastBias, err := stepOf(t, open(t), fast)
	if err != nil {
		t.Fatal(err)
	}
	slowWeight, slowBias, err := stepOf(t, open(t), slow)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(fastWeight, slowWeight) || slices.Equal(fastBias, slowBias) {
		t.Fatalf("two rates give the same weights %v and biases %v", fastWeight, fastBias)
	}
	matrix := func(w graph.Tensor) bool { return len(w.Shape()) == 2 }
	none := func(graph.Tensor) bool { return false }
	for name, test := range map[string]struct {
		groups       []graph.Group
		weight, bias []float64
		err          string
	}{
		"two":       {groups: []graph.Group{{Weights: matrix, Optimizer: slow}, {Optimizer: fast}}, weight: slowWeight, bias: fastBias},
		"one":       {groups: []graph.Group{{Optimizer: slow}}, weight: slowWeight, bias: slowBias},
		"frozen":    {groups: []graph.Group{{Weights: matrix}, {Optimizer: fast}}, weight: []float64{1, 2, 3, 4}, bias: fastBias},
		"left over": {groups: []graph.Group{{Weights: matrix, Optimizer: slow}}, err: "groups: want a group of weight layer.bias, got none among 1 groups"},
		"empty":     {groups: []graph.Group{{Weights: none, Optimizer: slow}, {Optimizer: slow}}, err: "groups: want a weight in group 0 of 2, got none"},
		"hidden":    {groups: []graph.Group{{Optimizer: slow}, {Weights: matrix, Optimizer: slow}}, err: "groups: want a weight in group 1 of 2, got none: groups before it have all that it would take"},
	} {
		t.Run(name, func(t *testing.T) {
			weight, bias, err := stepOf(t, open(t), graph.Groups(test.groups...))
			if test.err != "" {
				wantError(t, err, test.err)
				return
			}
			if err != nil || !slices.Equal(weight, test.weight) || !slices.Equal(bias, test.bias) {
				t.Errorf("got %v, %v, %v; want %v, %v", weight, bias, err, test.weight, test.bias)
			}
		})
	}
}

// TestCopyVariables lets variables change places, and asks for copies that do not fit.
func TestCopyVariables(t *testing.T) {
	t.Parallel()
	s := open(t)
	g := graph.New(1)
	x, y := g.Input("x", dtype.F64, 1, 2), g.Input("y", dtype.F64, 1, 2)
	z := linear.Apply(g, linear.Defaults(2), linear.Apply(g, linear.Defaults(2), x, graph.Named("a")), graph.Named("b"))
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
	nodes := map[string]*graph.Node{}
	for _, n := range g.Nodes() {
		nodes[n.Name] = n
	}
	of := func(name string) graph.Tensor { return nodes[name].Tensor(int(linear.SlotWeight)) }
	step, err := s.Training(t.Context(), g, loss, graph.Groups(graph.Group{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := step.Run(t.Context(), opgen.With(x, []float64{1, 2}), opgen.With(y, []float64{3, 4}),
		opgen.With(of("a"), []float64{1, 2, 3, 4}), opgen.With(of("b"), []float64{5, 6, 7, 8})); err != nil {
		t.Fatal(err)
	}
	values := func() string {
		t.Helper()
		a, err := opgen.Fetch[float64](step, of("a"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := opgen.Fetch[float64](step, of("b"))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(a, b)
	}
	if err := s.CopyVariables(map[string]string{"a.weight": "b.weight", "b.weight": "a.weight"}); err != nil {
		t.Fatal(err)
	}
	const swapped = "[5 6 7 8] [1 2 3 4]"
	if got := values(); got != swapped {
		t.Errorf("got %s, want %s", got, swapped)
	}
	wantError(t, s.CopyVariables(map[string]string{"a.weight": "b.weight", "b.weight": "a.bias", "c": "a.bias", "b.bias": "b.bia"}),
		`variable b.weight: want a value of f64[2, 2], got a.bias of f64[2]`,
		`want a variable of a loaded program, got "c"`,
		`variable b.bias: want a variable of a loaded program, got "b.bia" (did you mean "b.bias"?)`)
	if got := values(); got != swapped {
		t.Errorf("an error changed variables to %s, want %s", got, swapped)
	}
	if err := s.CopyVariables(nil); err != nil {
		t.Error(err)
	}
}
