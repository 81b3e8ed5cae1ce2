package graph_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/einsum"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestGradientsErrors asks for gradients that there are not: the error has the line of the call, and says
// what was wanted.
func TestGradientsErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(g *graph.Graph, x, i graph.Tensor) []graph.Tensor
		want []string
	}{
		{"another graph", func(g *graph.Graph, x, _ graph.Tensor) []graph.Tensor {
			return g.Gradients(x, graph.New(1).Input("other", dtype.F32, 2))
		}, []string{"want floating-point tensors of this graph, got other f32[2]"}},
		{"integers", func(g *graph.Graph, x, i graph.Tensor) []graph.Tensor { return g.Gradients(x, i) }, []string{"got i i32[2]"}},
		{"weights", func(g *graph.Graph, x, _ graph.Tensor) []graph.Tensor {
			return g.GradientsFrom(map[graph.Tensor]graph.Tensor{x: g.Input("w", dtype.F32, 3)}, x)
		}, []string{"want weights like x f32[2], got w f32[3]"}},
		{"no formula", func(g *graph.Graph, x, _ graph.Tensor) []graph.Tensor {
			return g.Gradients(einsum.Apply(g, einsum.Defaults("i,i->"), []graph.Tensor{x, x}), x)
		}, []string{"node einsum: operator einsum: want an operator with a formula"}},
	} {
		g := graph.New(1)
		x, i := g.Input("x", dtype.F32, 2), g.Input("i", dtype.I32, 2)
		got := c.ask(g, x, i)
		if len(got) != 1 || got[0].Valid() {
			t.Errorf("%s: got the gradients %v, want none", c.name, got)
		}
		for _, part := range append(c.want, "gradient_nodes_test.go:") {
			if err := g.Err(); err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got error %v, want one with %q", c.name, err, part)
			}
		}
	}
}

// TestNoGradient asks for the gradient by a tensor on which nothing depends: there is none, and no error.
func TestNoGradient(t *testing.T) {
	g := graph.New(1)
	x, y := g.Input("x", dtype.F32, 2), g.Input("y", dtype.F32, 2)
	got := g.Gradients(elementunary.Exp(g, x), y, x)
	if err := g.Err(); err != nil || got[0].Valid() || !got[1].ShapeIs([]int{2}) {
		t.Errorf("got the gradients %v and the error %v, want none by y, one by x and none", got, err)
	}
}
