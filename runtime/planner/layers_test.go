package planner_test

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	mha "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/apart"
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

// pooled applies a convolution, an activation and a pooling to images, and another convolution in groups.
func pooled(g *graph.Graph, x graph.Tensor) graph.Tensor {
	pool := pool2d.Defaults(3, 2)
	pool.StrideH, pool.StrideW = 2, 2
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), conv2d.Apply(g, conv2d.Defaults(4, 3, 3).WithPaddingH(1), x))
	return conv2d.Apply(g, conv2d.Defaults(6, 2, 3).WithGroups(2).WithStrideH(2), pool2d.Apply(g, pool, y))
}

// TestFalseWaitsOfLayers makes plans of layers: forward, with gradients, and with updates of weights; in
// place and with memory of their own; of few rows and of many, which tiles divide or not; in as many tiles as
// there may be, and in as many as pay. No tile waits without a reason, in dependencies or in queues of 1 to 8
// workers. Forward, no step between tiles is whole, so none is a barrier, and the longest chain has a task of
// each layer.
func TestFalseWaitsOfLayers(t *testing.T) {
	t.Parallel()
	dependencies, waits := 0, 0
	for _, net := range []struct {
		name   string
		shape  func(rows int) []int
		apply  func(g *graph.Graph, x graph.Tensor) graph.Tensor
		layers int
	}{
		{"rows", func(rows int) []int { return []int{rows, 16} }, func(g *graph.Graph, x graph.Tensor) graph.Tensor { return mlp(g, mlp(g, x, 40, 24), 12, 20) }, 6},
		{"batches", func(rows int) []int { return []int{rows/5 + 1, 5, 12} }, func(g *graph.Graph, x graph.Tensor) graph.Tensor { return mlp(g, x, 20, 12) }, 3},
		{"block", func(rows int) []int { return []int{rows/8 + 1, 8, 16} }, block, 8},
		{"images", func(rows int) []int { return []int{rows/7 + 1, 2, 20 + rows%7, 40} }, pooled, 4},
	} {
		for _, rows := range []int{1, 2, 7, 8, 15, 16, 17, 33, 61} {
			for _, kind := range []string{"forward", "gradients", "training"} {
				if kind != "forward" && net.name == "block" && rows > 16 && testing.Short() || net.name == "images" && (kind != "forward" || rows > 8) {
					continue
				}
				g := graph.New(1)
				y := net.apply(g, g.Input("x", dtype.F32, net.shape(rows)...))
				prog, err := programOf(g, y, kind)
				if err != nil {
					t.Fatal(err)
				}
				for mode := range 8 {
					opts := []planner.Option{planner.Tiled()}
					if mode&1 > 0 {
						opts = append(opts, planner.Plain())
					}
					if mode&2 > 0 {
						opts = append(opts, planner.Paying())
					}
					q := prog
					if mode&4 > 0 {
						if kind == "forward" {
							continue
						}
						q = apart.Program(prog)
					}
					name := fmt.Sprintf("%s of %d rows, %s, mode %d", net.name, rows, kind, mode)
					p, err := planner.Build(q, opts...)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					o := inOrder(p)
					if err := falseWaits(p, o); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					dependencies += p.Deps.Edges()
					for workers := 2; workers <= 8; workers++ {
						n, err := falseQueues(p, o, workers)
						if err != nil {
							t.Errorf("%s, %d workers: %v", name, workers, err)
						}
						waits += n
					}
					if kind != "forward" {
						continue
					}
					if chain, _ := depth(p); chain > net.layers {
						t.Errorf("%s: %d tasks wait for each other, want at most %d", name, chain, net.layers)
					}
					for i := range p.Tasks {
						if x := &p.Tasks[i]; x.Tile > 0 || net.shape(rows)[0] == 1 && p.Calls[x.Call].Node == "multihead_attention" {
							continue // every row of a sequence needs all of its rows
						}
						for _, s := range p.Deps.Preds(i) {
							if p.Tasks[s].Tile > 0 {
								t.Errorf("%s: %s is whole, and waits for tiles of %s", name, p.Label(i), p.Label(int(s)))
								break
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d dependencies, %d waits in queues", dependencies, waits)
	if dependencies < 10000 || waits < 10000 {
		t.Errorf("%d dependencies, %d waits in queues, want more", dependencies, waits)
	}
}

// programOf returns a program of a network: its result alone, with gradients of its weights, or with a step
// of training.
func programOf(g *graph.Graph, y graph.Tensor, kind string) (*graph.Program, error) {
	if kind != "training" {
		p, err := graph.Inference(g, y)
		if kind == "gradients" && err == nil {
			p, _, err = graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: g.Input("seed", dtype.F32, y.Shape()...)}, p.Variables, y)
		}
		return p, err
	}
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(g.Input("label", dtype.F32, y.Shape()...)))
	return graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1).WithMomentum(0.5)), y)
}
