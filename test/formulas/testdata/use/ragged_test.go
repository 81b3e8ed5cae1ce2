package use

import (
	"slices"
	"testing"

	own "example.com/formulas/generated/catalogue"
	"example.com/formulas/generated/ragged"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestRagged reads tensors by their number that have rows of other lengths than the first one.
func TestRagged(t *testing.T) {
	t.Run("kit", func(t *testing.T) {
		optest.All(t, own.Register, slices.DeleteFunc(own.Operators(), func(o *graph.Operator) bool { return o != ragged.Operator }), optest.Register(catalogue.Register))
	})
	s, err := opgen.Open(catalogue.Register, opgen.Register(own.Register))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g := graph.New(1)
	a, b, seed := g.Input("a", dtype.F64, 2, 1), g.Input("b", dtype.F64, 2, 4), g.Input("seed", dtype.F64, 2)
	y := ragged.Apply(g, ragged.Defaults(3).WithFill(0.25), []graph.Tensor{a, b})
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{a, b}, y)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Run(t.Context(), opgen.With(a, []float64{1, 2}), opgen.With(b, []float64{1, 10, 100, 1000, 2, 20, 200, 2000}), opgen.With(seed, []float64{1, -1})); err != nil {
		t.Fatal(err)
	}
	// Each row of a is followed by two elements that are not there: 0.25 times 2 and 3.
	for x, want := range map[graph.Tensor][]float64{
		y:        {1 + 1.25 + 1 + 20 + 300, 2 + 1.25 + 2 + 40 + 600},
		grads[a]: {1, -1},
		grads[b]: {1, 2, 3, 0, -1, -2, -3, 0},
	} {
		if got, err := opgen.Fetch[float64](loaded, x); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v is %v, %v, want %v", x, got, err, want)
		}
	}
}
