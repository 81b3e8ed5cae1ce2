package use

import (
	"context"
	"math"
	"testing"

	"example.com/outside/ops/catalogue"
	"example.com/outside/ops/scaleshift"

	"github.com/opgen/opgen/generated/adam"
	opgen "github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// newEngine returns an engine with the operators of this module and of opgen.
func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	var registry task.Registry
	if err := opgen.Register(&registry); err != nil {
		t.Fatal(err)
	}
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	t.Cleanup(func() { e.Close() })
	return e
}

// load plans and loads a program. err is the error of the call that made the program.
func load(t *testing.T, e *engine.Engine, p *graph.Program, err error) *engine.Instance {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	pl, err := planner.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(pl)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func run(t *testing.T, in *engine.Instance) {
	t.Helper()
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func feed[T dtype.Element](t *testing.T, in *engine.Instance, name string, data []T) {
	t.Helper()
	if err := engine.Feed(in, name, data); err != nil {
		t.Fatal(err)
	}
}

func fetch(t *testing.T, in *engine.Instance, name string) []float64 {
	t.Helper()
	data, err := engine.Fetch[float64](in, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTraining trains a network with an operator of each module. The loss falls in every step.
func TestTraining(t *testing.T) {
	g := graph.New(7)
	x, label := g.Input("x", dtype.F64, 3, 2), g.Input("label", dtype.I64, 3, 1)
	attrs := linear.Defaults(4)
	y := scaleshift.Apply(g, scaleshift.Defaults(), x, graph.Named("scale_shift"))
	y = linear.Apply(g, attrs, y)
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(y), scce.Label(label))
	step, err := graph.Training(g, loss, adam.Optimizer(adam.Defaults().WithAlpha(0.05)))
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	start, err := graph.Initialization(step)
	run(t, load(t, e, start, err))
	in := load(t, e, step, nil)
	last := math.Inf(1)
	for i := range 10 {
		feed(t, in, "x", []float64{1, -2, 0.5, 3, -1, -1})
		feed(t, in, "label", []int64{0, 3, 2})
		run(t, in)
		l := fetch(t, in, loss.Name())[0]
		if !(l < last) {
			t.Errorf("step %d: got loss %v, want less than %v", i, l, last)
		}
		last = l
	}
	shift, _, err := engine.Variable[float64](e, "scale_shift.shift")
	if err != nil || shift[0] == 0 || shift[1] == 0 {
		t.Errorf("got shift %v, %v, want elements other than the initial 0", shift, err)
	}
}

// TestGradient compares gradients with central differences of a weighted sum of the outputs.
func TestGradient(t *testing.T) {
	g := graph.New(7)
	x, seed := g.Input("x", dtype.F64, 2, 3), g.Input("seed", dtype.F64, 2, 3)
	y := scaleshift.Apply(g, scaleshift.Defaults(), x, graph.Named("s"))
	n := y.Node()
	values := map[string][]float64{"x": {1, 2, 3, -4, 5, -6}, "s.scale": {0.5, -1, 2}, "s.shift": {1, 0, -3}}
	weights := []float64{1, -1, 2, 3, 0.5, -2}
	wrt := []graph.Tensor{x, n.Tensor(int(scaleshift.SlotScale)), n.Tensor(int(scaleshift.SlotShift))}
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, wrt, y)
	in := load(t, newEngine(t), p, err)
	sum := func() (s float64) {
		feed(t, in, "seed", weights)
		for name, v := range values {
			feed(t, in, name, v)
		}
		run(t, in)
		for i, v := range fetch(t, in, y.Name()) {
			s += weights[i] * v
		}
		return s
	}
	sum()
	got := map[string][]float64{}
	for _, w := range wrt {
		got[w.Name()] = fetch(t, in, grads[w].Name())
	}
	const h = 1e-5
	for name, v := range values {
		for i, at := range v {
			v[i] = at + h
			above := sum()
			v[i] = at - h
			want := (above - sum()) / (2 * h)
			v[i] = at
			if d := got[name][i] - want; !(math.Abs(d) <= 1e-8) {
				t.Errorf("gradient of %s[%d] = %v, want %v", name, i, got[name][i], want)
			}
		}
	}
}
