package planner_test

import (
	"testing"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mha "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
)

// mlp applies two linear layers with an activation between them.
func mlp(g *graph.Graph, x graph.Tensor, inner, outer int) graph.Tensor {
	x = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), linear.Apply(g, linear.Defaults(inner), x))
	return linear.Apply(g, linear.Defaults(outer), x)
}

// block applies a block of a transformer: attention and two linear layers, with norms and residuals.
func block(g *graph.Graph, x graph.Tensor) graph.Tensor {
	add := func(x, y graph.Tensor) graph.Tensor {
		return elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(y))
	}
	norm := func(x graph.Tensor) graph.Tensor { return layernorm.Apply(g, layernorm.Defaults(attr.ListOf(-1)), x) }
	y := norm(x)
	x = add(x, mha.Apply(g, mha.Defaults(16, 2), mha.Query(y), mha.Key(y), mha.Value(y)))
	return add(x, mlp(g, norm(x), 32, 16))
}

// TestFalseWaitsOfLayers makes plans of layers of which each has tiles, some in place of others: no tile
// waits without a reason, and the longest chain has a task of each layer.
func TestFalseWaitsOfLayers(t *testing.T) {
	for name, tt := range map[string]struct {
		shape  []int
		apply  func(g *graph.Graph, x graph.Tensor) graph.Tensor
		layers int
	}{
		"rows":    {[]int{48, 32}, func(g *graph.Graph, x graph.Tensor) graph.Tensor { return mlp(g, mlp(g, x, 64, 32), 48, 16) }, 6},
		"ragged":  {[]int{37, 24}, func(g *graph.Graph, x graph.Tensor) graph.Tensor { return mlp(g, x, 56, 40) }, 3},
		"batches": {[]int{5, 12, 24}, func(g *graph.Graph, x graph.Tensor) graph.Tensor { return mlp(g, x, 40, 24) }, 3},
		"block":   {[]int{6, 8, 16}, block, 8},
	} {
		for _, plain := range []bool{false, true} {
			g := graph.New(1)
			prog, err := graph.Inference(g, tt.apply(g, g.Input("x", dtype.F32, tt.shape...)))
			if err != nil {
				t.Fatal(err)
			}
			opts := []planner.Option{planner.Tiled(), planner.Workers(3)}
			if plain {
				opts = append(opts, planner.Plain())
			}
			p, err := planner.Build(prog, opts...)
			if err != nil {
				t.Fatal(err)
			}
			if err := falseWaits(p); err != nil {
				t.Errorf("%s, plain %v: %v", name, plain, err)
			}
			whole := map[string]bool{}
			for i := range p.Tasks {
				if p.Tasks[i].Tile == 0 {
					whole[p.Label(i)] = true
				}
			}
			chain, widest := depth(p)
			if len(whole) > 0 || chain > tt.layers {
				t.Errorf("%s, plain %v: whole tasks %v; %d tasks wait for each other, want at most %d; at most %d predecessors", name, plain, whole, chain, tt.layers, widest)
			}
		}
	}
}
