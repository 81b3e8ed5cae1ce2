package graph_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/chunk"
	"github.com/opgen/opgen/generated/split"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestAsk asks for three parts, which are those of split with their extents.
func TestAsk(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 6)
	parts := chunk.Apply(g, chunk.Defaults().WithAxis(-1), x, 3)
	other := split.Apply(g, split.Defaults(-1, attr.ListOf(2, 2, 2)), x)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if len(parts) != 3 || len(other) != 3 {
		t.Fatalf("want 3 tensors, got %d and %d", len(parts), len(other))
	}
	for i, p := range parts {
		if p.Type() != other[i].Type() || !slices.Equal(p.Shape(), other[i].Shape()) {
			t.Errorf("part %d: got %s, and %s of split", i, p, other[i])
		}
	}
}

func TestAskErrors(t *testing.T) {
	one := func(slot, n int) func(g *graph.Graph, x graph.Tensor) {
		return func(g *graph.Graph, x graph.Tensor) {
			graph.Insert[int](g, 0, chunk.Operator, chunk.Defaults()).Bind(0, x).Ask(slot, n).Node()
		}
	}
	for name, tt := range map[string]struct {
		insert func(g *graph.Graph, x graph.Tensor)
		want   string
	}{
		"none":   {func(g *graph.Graph, x graph.Tensor) { chunk.Apply(g, chunk.Defaults(), x, 0) }, "slot output: want one or more tensors that the caller asks for, got 0"},
		"less":   {one(1, -1), "slot output: want one or more tensors that the caller asks for, got -1"},
		"many":   {one(1, 1<<40), "slot output: want one or more tensors that the caller asks for, got 1099511627776"},
		"uneven": {func(g *graph.Graph, x graph.Tensor) { chunk.Apply(g, chunk.Defaults(), x, 4) }, "want parts of one extent, got an extent of 6"},
		"not asked": {func(g *graph.Graph, x graph.Tensor) {
			graph.Insert[int](g, 0, chunk.Operator, chunk.Defaults()).Bind(0, x).Node()
		}, "slot output: want one or more tensors that the caller asks for, got 0"},
		"input":   {one(0, 2), "want an output of which the caller asks for several, got input"},
		"no slot": {one(7, 2), "want an output of which the caller asks for several, got Slot(7)"},
		"option": {func(g *graph.Graph, x graph.Tensor) {
			graph.Insert[int](g, 0, chunk.Operator, chunk.Defaults(), graph.Request(chunk.SlotOutput)).Bind(0, x).Node()
		}, "want an output that is made on request for Request, got output"},
		"counted": {func(g *graph.Graph, x graph.Tensor) {
			graph.Insert[int](g, 0, split.Operator, split.Defaults(0, attr.ListOf(6))).Bind(0, x).Ask(1, 2).Node()
		}, "want an output of which the caller asks for several, got output"},
	} {
		g := graph.New(1)
		tt.insert(g, g.Input("x", dtype.F32, 6))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}
