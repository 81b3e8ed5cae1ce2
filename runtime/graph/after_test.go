package graph_test

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// ordered returns the results of n nodes each of which runs after the next.
func ordered(g *graph.Graph, n int) []graph.Tensor {
	x := g.Input("x", dtype.F32, 2)
	out := make([]graph.Tensor, n)
	for i := range out {
		if out[i] = reverse.Apply(g, reverse.Defaults(0), x, graph.Named(fmt.Sprint("n", i))); i > 0 {
			out[i-1].Node().After(out[i].Node())
		}
	}
	return out
}

// TestF19Cycle reports a cycle of many nodes in a message of few.
func TestF19Cycle(t *testing.T) {
	t.Parallel()
	const n = 5000
	g := graph.New(1)
	out := ordered(g, n)
	out[n-1].Node().After(out[0].Node())
	_, err := graph.Inference(g, out[0])
	if err == nil || len(err.Error()) > 500 {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"want nodes without a cycle", "n0 (operator reverse), n1 ", "4990 others", "n4999 (operator reverse), n0, each"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// TestF19Chain orders a chain of explicit dependencies with a small stack.
func TestF19Chain(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const n = 50_000
	g := graph.New(1)
	out := ordered(g, n)
	p, err := graph.Inference(g, out[0])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Invocation.Node.Name)
	}
	if len(names) != n || names[0] != fmt.Sprint("n", n-1) || names[n-1] != "n0" || !slices.IsSortedFunc(names, func(a, b string) int {
		var i, j int
		fmt.Sscanf(a, "n%d", &i)
		fmt.Sscanf(b, "n%d", &j)
		return j - i
	}) {
		t.Errorf("got %d nodes from %s to %s", len(names), names[0], names[len(names)-1])
	}
}
