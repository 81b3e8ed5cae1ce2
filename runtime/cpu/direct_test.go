package cpu_test

import (
	"context"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/internal/goroutine"
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

// TestDirect tells on which goroutines plans run: that of the caller if tasks are loops of formulas, alone or fused, and one of the engine's if a kernel is written by
// hand or an observer is called, which may end their goroutine or call the engine.
func TestDirect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		build  func(g *graph.Graph, x graph.Tensor) graph.Tensor
		config engine.Config
		direct bool
	}{
		{"loops", func(g *graph.Graph, x graph.Tensor) graph.Tensor { return softmax.Apply(g, softmax.Defaults(), x) }, engine.Config{}, true},
		{"fused", func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			x = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), x)
			return elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), x)
		}, engine.Config{}, true},
		{"profiled", func(g *graph.Graph, x graph.Tensor) graph.Tensor { return softmax.Apply(g, softmax.Defaults(), x) }, engine.Config{Observer: watcher{}}, false},
		{"by hand", func(g *graph.Graph, x graph.Tensor) graph.Tensor { return topk.Apply(g, topk.Defaults(1), x).Output }, engine.Config{}, false},
	} {
		for _, workers := range []int{1, 3} {
			var r task.Registry
			if err := catalogue.Register(&r); err != nil {
				t.Fatal(err)
			}
			e := engine.New(&r, open(workers), tt.config)
			g := graph.New(1)
			p, err := graph.Inference(g, tt.build(g, weight.Apply(g, weight.Defaults(attr.ListOf(4, 6)))))
			if err != nil {
				t.Fatal(err)
			}
			init, err := graph.Initialization(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := load(t, e, init).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			in, ctx := load(t, e, p, planner.Workers(workers)), &asked{Context: t.Context()}
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
