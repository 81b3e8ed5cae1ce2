package planner_test

import (
	"errors"
	"testing"

	_ "github.com/opgen/opgen/formula" // finds tiles
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// TestPaying cuts layers, and the tiles of rows that the spec of a pooling states, into as many tiles as pay:
// none where a layer is small, and 16 where it is large.
func TestPaying(t *testing.T) {
	t.Parallel()
	layer := func(rows, width int) func(g *graph.Graph) graph.Tensor {
		return func(g *graph.Graph) graph.Tensor {
			return linear.Apply(g, linear.Defaults(width).WithActivation(activation.Relu), g.Input("x", dtype.F32, rows, width))
		}
	}
	pooled := func(images, side int) func(g *graph.Graph) graph.Tensor {
		return func(g *graph.Graph) graph.Tensor {
			return pool2d.Apply(g, pool2d.Defaults(2, 2), g.Input("x", dtype.F32, images, 4, side, side))
		}
	}
	for _, tt := range []struct {
		name        string
		build       func(g *graph.Graph) graph.Tensor
		all, paying int // tasks
	}{
		{"a layer of a few microseconds", layer(8, 32), 8, 1},
		{"a layer that pays", layer(16, 96), 16, 4},
		{"a large layer", layer(256, 256), 16, 16},
		{"a small pooling", pooled(2, 8), 2 * 4 * 2, 1},
		{"a large pooling", pooled(8, 64), 8 * 4 * 16, 16},
	} {
		g := graph.New(1)
		prog, err := graph.Inference(g, tt.build(g))
		if err != nil {
			t.Fatal(err)
		}
		for want, opts := range map[int][]planner.Option{tt.all: {planner.Tiled()}, tt.paying: {planner.Tiled(), planner.Paying()}} {
			p, err := planner.Build(prog, opts...)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Tasks) != want {
				t.Errorf("%s: got %d tasks of %v, want %d", tt.name, len(p.Tasks), p.Tasks[0].Grid(), want)
			}
			if err := errors.Join(verify.Plan(p), validate.Plan(p, prog)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTilesOfNothing makes plans of convolutions without channels or images: a window of no channels is in
// footprints.
func TestTilesOfNothing(t *testing.T) {
	for _, dims := range [][]int{{2, 0, 8, 8}, {0, 4, 8, 8}, {2, 4, 0, 8}} {
		g := graph.New(1)
		y := conv2d.Apply(g, conv2d.Defaults(4, 3, 3).WithPaddingH(2).WithGroups(2), g.Input("x", dtype.F32, dims...))
		prog, err := graph.Inference(g, y)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planner.Build(prog, planner.Tiled())
		if err == nil {
			err = errors.Join(verify.Plan(p), validate.Plan(p, prog))
		}
		if err != nil {
			t.Errorf("%v: %v", dims, err)
		}
	}
}
