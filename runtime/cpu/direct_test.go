package cpu_test

import (
	"context"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/fft"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/kernels"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/internal/goroutine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// asked is a context that notes on which goroutine it is asked.
type asked struct {
	context.Context
	by uint64
}

func (a *asked) Err() error {
	a.by = goroutine.ID()
	return a.Context.Err()
}

// watcher is an observer that does nothing.
type watcher struct{}

func (watcher) Observe(*plan.Plan, int) func(engine.Event) { return func(engine.Event) {} }

// others are kernels of others, which have more than they embed.
type others struct{}

type another[T dtype.Float] struct{ kernels.Fft[T] }

func (others) F32() fft.Kernel[float32] { return another[float32]{} }
func (others) F64() fft.Kernel[float64] { return another[float64]{} }

// TestDirect tells on which goroutines plans run: that of the caller if tasks are loops of formulas, alone or
// fused, or kernels that opgen has, and one of the engine's if a kernel is one of others or an observer is
// called, which may end their goroutine or call the engine.
func TestDirect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		build  func(g *graph.Graph, x graph.Tensor) graph.Tensor
		config engine.Config
		kernel func(*task.Registry) error // nil: all of the catalogue
		direct bool
	}{
		{"loops", func(g *graph.Graph, x graph.Tensor) graph.Tensor { return softmax.Apply(g, softmax.Defaults(), x) }, engine.Config{}, nil, true},
		{"fused", func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			x = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), x)
			return elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), x)
		}, engine.Config{}, nil, true},
		{"profiled", func(g *graph.Graph, x graph.Tensor) graph.Tensor { return softmax.Apply(g, softmax.Defaults(), x) }, engine.Config{Observer: watcher{}}, nil, false},
		{"opgen's", func(g *graph.Graph, x graph.Tensor) graph.Tensor { return topk.Apply(g, topk.Defaults(1), x).Output }, engine.Config{}, nil, true},
		{"of others", func(g *graph.Graph, x graph.Tensor) graph.Tensor { return fft.Apply(g, fft.Defaults(), x).Real }, engine.Config{},
			func(r *task.Registry) error { return fft.Register(r, op.CPU, others{}) }, false},
	} {
		for _, workers := range []int{1, 3} {
			var r task.Registry
			register := catalogue.Register
			if tt.kernel != nil {
				register = tt.kernel
			}
			if err := register(&r); err != nil {
				t.Fatal(err)
			}
			e := engine.New(&r, open(workers), tt.config)
			g := graph.New(1)
			p, err := graph.Inference(g, tt.build(g, g.Input("x", dtype.F32, 4, 6)))
			if err != nil {
				t.Fatal(err)
			}
			in, ctx := load(t, e, p, planner.Workers(workers)), &asked{Context: t.Context()}
			if err := engine.Feed(in, "x", make([]float32, 24)); err != nil {
				t.Fatal(err)
			}
			if err := in.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if got := ctx.by == goroutine.ID(); got != tt.direct {
				t.Errorf("%s, %d workers: on the goroutine of the caller: want %v, got %v", tt.name, workers, tt.direct, got)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
