package search_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	_ "github.com/opgen/opgen/formula" // divides operators
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/mesh/search"
)

// network returns a training step of two blocks of two layers, with many samples or many features.
func network(t *testing.T, batch, features int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, batch, features)
	y := x
	for _, name := range []string{"one", "two"} {
		y = linear.Apply(g, linear.Defaults(4*features), y, graph.Named(name+" wide"))
		y = linear.Apply(g, linear.Defaults(features), elementunary.Relu(g, y), graph.Named(name+" narrow"))
	}
	mean := meansquarederror.Defaults().WithScaleFactor(1 / float64(batch*features))
	loss := meansquarederror.Apply(g, mean, meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, batch, features)))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// machine has slow links.
var machine = search.Machine{Rate: 1e9, Bandwidth: 1e9, Link: 1e8, Latency: 1e-6}

// text returns the rules of a strategy, in order.
func text(s *mesh.Strategy) string {
	var rules []string
	for _, r := range s.Rules {
		rules = append(rules, r.String())
	}
	slices.Sort(rules)
	return strings.Join(rules, "; ")
}

// TestBest finds the strategies that are known to be the fastest: a large batch is divided among all devices,
// and where weights are large and the batch is small, the features between two layers are.
func TestBest(t *testing.T) {
	for _, tt := range []struct {
		batch, features int
		want            string
	}{
		{256, 4, "x dimension 0 over data"},
		{2, 32, "one wide.weight dimension 0 over data; two wide.weight dimension 0 over data"},
	} {
		p := network(t, tt.batch, tt.features)
		tried, least := 0, math.Inf(1)
		best, err := search.Best(p, search.Config{Devices: 2, Machine: machine, Moves: moves, Each: func(f *search.Found) {
			tried, least = tried+1, min(least, f.Seconds)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if text(best.Strategy) != tt.want || best.Seconds > least || tried < 5 {
			t.Errorf("%d samples of %d features: %d tried, the least %g s, best %v", tt.batch, tt.features, tried, least, best)
		}
		// No rule for a weight or an input makes another one faster.
		for _, tensor := range []string{"x", "one wide.weight", "one narrow.weight", "one wide.bias", "two narrow.bias"} {
			for dim := range 2 {
				d, err := mesh.Divide(p, &mesh.Strategy{Mesh: best.Strategy.Mesh, Rules: []mesh.Rule{{Tensor: tensor, Dim: dim, Axis: "data"}}}, moves)
				if err != nil {
					continue
				}
				if other, _, err := machine.Predict(d.Program, 2); err != nil || other.Seconds < best.Seconds {
					t.Errorf("%d samples of %d features: %v with %s dimension %d, %v", tt.batch, tt.features, other, tensor, dim, err)
				}
			}
		}
	}
}

// TestMemory bounds what a device has: the fastest strategy has too much, and another one is found.
func TestMemory(t *testing.T) {
	p := network(t, 128, 32)
	c := search.Config{Devices: 2, Machine: machine, Moves: moves}
	fast, err := search.Best(p, c)
	if err != nil {
		t.Fatal(err)
	}
	c.Memory = fast.Memory - 1
	small, err := search.Best(p, c)
	if err != nil || small.Memory >= fast.Memory || small.Seconds < fast.Seconds {
		t.Errorf("%v, and with less memory %v, %v", fast, small, err)
	}
	c.Memory = 1
	if _, err := search.Best(p, c); err == nil || !strings.Contains(err.Error(), "want a strategy with at most 1 bytes on a device, got ") {
		t.Errorf("one byte: %v", err)
	}
}

// TestErrors seeks strategies for no devices, and for machines that are none.
func TestErrors(t *testing.T) {
	p := network(t, 2, 2)
	if _, err := search.Best(p, search.Config{Machine: machine, Moves: moves}); err == nil || !strings.Contains(err.Error(), "want 1 device or more, got 0") {
		t.Errorf("no devices: %v", err)
	}
	for _, m := range []search.Machine{{}, {Rate: 1, Bandwidth: 1, Link: math.NaN()}, {Rate: 1, Bandwidth: 1, Link: 1, Latency: -1}} {
		if _, err := search.Best(p, search.Config{Devices: 2, Machine: m, Moves: moves}); err == nil || !strings.Contains(err.Error(), "want a rate, ") {
			t.Errorf("%+v: %v", m, err)
		}
	}
}
