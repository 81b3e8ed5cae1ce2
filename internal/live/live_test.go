package live_test

import (
	"context"
	"math"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/live"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/formula"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

const scaled = `
edition = 1
name    = "scaled"
doc     = "Scales rows."
formula = "output[n, k] = rate * input[n, k] / factor[n]"

[dtypes]
T = ["f32", "f64"]

[attrs]
rate = { type = "float", default = 0.5 }

[slots]
input  = { role = "input", type = "T", shape = ["N", "K"] }
factor = { role = "input", type = "T", shape = ["N"] }
output = { role = "output", type = "T", shape = ["N", "K"] }

[tasks.forward]
[tasks.backward]

[[examples]]
input  = [2, 3]
factor = [2]
`

// TestRun runs an operator of a spec, with its gradient.
func TestRun(t *testing.T) {
	var list diag.List
	ops, err := live.New([]driver.Input{{Path: "specs/scaled.toml", Text: scaled}}, &list)
	if err != nil || !list.Empty() {
		t.Fatal(err, list.Sorted())
	}
	o := ops["scaled"].Operator
	attrs, err := o.DecodeAttrs([]byte(`{"rate": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New(1)
	x, f := g.Input("x", dtype.F64, 2, 3), g.Input("f", dtype.F64, 2)
	y := graph.Insert[int](g, 0, o, attrs).Bind(0, x).Bind(1, f).Node().Tensor(2)
	seed := g.Input("seed", dtype.F64, 2, 3)
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x, f}, y)
	if err != nil {
		t.Fatal(err)
	}
	var tasks task.Registry
	if err := formula.Register(&tasks, op.CPU, &o.Operator); err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(&tasks, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	in, err := e.Load(plan)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]float64{"x": {1, 2, 3, 4, 5, 6}, "f": {1, 2}, "seed": {1, 1, 1, 1, 1, 1}} {
		if err := engine.Feed(in, name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{y.Name(): {3, 6, 9, 6, 7.5, 9}, grads[x].Name(): {3, 3, 3, 1.5, 1.5, 1.5}, grads[f].Name(): {-18, -11.25}} {
		got, err := engine.Fetch[float64](in, name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Errorf("%s: got %v, want %v", name, got, want)
				break
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
