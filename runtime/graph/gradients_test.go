package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// harness runs programs and fails the test on any error.
type harness struct {
	*testing.T
	*engine.Engine
}

func newEngine(t *testing.T) harness {
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&r, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return harness{t, e}
}

func (e harness) load(p *graph.Program) *engine.Instance {
	e.Helper()
	pl, err := planner.Build(p)
	if err != nil {
		e.Fatal(err)
	}
	in, err := e.Load(pl)
	if err != nil {
		e.Fatal(err)
	}
	return in
}

func (e harness) feed(in *engine.Instance, x graph.Tensor, data ...float64) {
	e.Helper()
	if err := engine.Feed(in, x.Name(), data); err != nil {
		e.Fatal(err)
	}
}

func (e harness) run(in *engine.Instance) {
	e.Helper()
	if err := in.Run(context.Background()); err != nil {
		e.Fatal(err)
	}
}

func (e harness) want(in *engine.Instance, x graph.Tensor, want ...float64) {
	e.Helper()
	got, err := engine.Fetch[float64](in, x.Name())
	if err != nil {
		e.Fatal(err)
	}
	if !slices.Equal(got, want) {
		e.Errorf("%s = %v, want %v", x.Name(), got, want)
	}
}

func times(g *graph.Graph, x graph.Tensor, factor float64, name string) graph.Tensor {
	at := elementunary.Defaults(elementunary.OpTypeScalarMultiply)
	at.Scalar = attr.Some(factor)
	return elementunary.Apply(g, at, x, graph.Named(name))
}

type tensors = map[graph.Tensor]graph.Tensor

// TestSeededIntermediate gives a gradient to a tensor that others depend on, too. What they contribute
// is added, and the gradient that was fed stays as it is.
func TestSeededIntermediate(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 2)
	a := times(g, x, 2, "a")
	b := times(g, a, 3, "b")
	c := times(g, a, 5, "c")
	seedA, seedB, seedC := g.Input("seed a", dtype.F64, 2), g.Input("seed b", dtype.F64, 2), g.Input("seed c", dtype.F64, 2)
	p, grads, err := graph.Gradients(g, tensors{a: seedA, b: seedB, c: seedC}, []graph.Tensor{x, a, c}, seedA)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	in := e.load(p)
	for range 2 {
		e.feed(in, x, 1, 1)
		e.feed(in, seedA, 1, 10)
		e.feed(in, seedB, 1, 100)
		e.feed(in, seedC, 1, 1000)
		e.run(in)
		e.want(in, grads[a], 1+3+5, 10+300+5000)
		e.want(in, grads[x], 2*(1+3+5), 2*(10+300+5000))
		e.want(in, grads[c], 1, 1000)
		e.want(in, seedA, 1, 10)
	}
	if grads[c].Root() != seedC {
		t.Errorf("the gradient of c is %v, want the seed itself", grads[c])
	}
	// One input may be the gradient of several tensors.
	p, grads, err = graph.Gradients(g, tensors{a: seedA, b: seedA}, []graph.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	in = e.load(p)
	e.feed(in, x, 1, 1)
	e.feed(in, seedA, 1, 10)
	e.run(in)
	e.want(in, grads[x], 2*(1+3), 2*(10+30))
}

// TestSeededScatter does the same where the contribution is scattered.
func TestSeededScatter(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 1, 1, 1, 3)
	a := times(g, x, 2, "a")
	at := pool2d.Defaults(1, 2)
	b := pool2d.Apply(g, at, a)
	seedA, seedB := g.Input("seed a", dtype.F64, 1, 1, 1, 3), g.Input("seed b", dtype.F64, 1, 1, 1, 2)
	p, grads, err := graph.Gradients(g, tensors{a: seedA, b: seedB}, []graph.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	in := e.load(p)
	e.feed(in, x, 1, 5, 2)
	e.feed(in, seedA, 1, 2, 3)
	e.feed(in, seedB, 10, 100)
	e.run(in)
	e.want(in, grads[x], 2*1, 2*(2+10+100), 2*3)
}

// TestManyConsumers lets a tensor have several consumers, one of which uses it twice.
func TestManyConsumers(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 2)
	a := times(g, x, 2, "a")
	sum := add(g, a, a, graph.Named("sum"))
	b := times(g, a, 5, "b")
	total := add(g, sum, b, graph.Named("total"))
	seed := g.Input("seed", dtype.F64, 2)
	p, grads, err := graph.Gradients(g, tensors{total: seed}, []graph.Tensor{x, a})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "steps", listing(p), `forward: a forward
forward: sum forward
forward: b forward
forward: total forward
backward: total backward
backward: b backward
backward: sum backward
backward: add grad of a.output by sum.rhs_input to grad of a.output
backward: a backward
`)
	e := newEngine(t)
	in := e.load(p)
	e.feed(in, x, 1, 1)
	e.feed(in, seed, 1, 10)
	e.run(in)
	e.want(in, grads[a], 7, 70)
	e.want(in, grads[x], 14, 140)
}

// TestUnusedOutputs checks that the gradient of an output that nothing depends on is zero, and that a
// tensor which no seed depends on has no gradient.
func TestUnusedOutputs(t *testing.T) {
	g := graph.New(1)
	x, apart := g.Input("x", dtype.F64, 2, 3), g.Input("apart", dtype.F64, 2, 3)
	label := g.Input("label", dtype.I32, 2, 1)
	unary(g, elementunary.OpTypeTanh, apart, graph.Named("tanh"))
	l := loss(g, x, label, graph.Request(scce.SlotLogProb), graph.Named("loss"))
	logs := l.Node().Tensor(int(scce.SlotLogProb))
	seed := g.Input("seed", dtype.F64, 2, 3)
	p, grads, err := graph.Gradients(g, tensors{logs: seed}, []graph.Tensor{x, apart})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "steps", listing(p), "forward: loss forward\nbackward: fill grad of loss.loss with 0\nbackward: loss backward\n")
	if _, ok := grads[apart]; ok || len(grads) != 1 {
		t.Errorf("gradients %v", grads)
	}
	e := newEngine(t)
	in := e.load(p)
	e.feed(in, x, 0, 0, 0, 0, 0, 0)
	e.feed(in, seed, 3, 0, 0, 0, 0, 0)
	if err := engine.Feed(in, "label", []int32{0, 0}); err != nil {
		t.Fatal(err)
	}
	e.run(in)
	// The rows are uniform: the gradient is seed - sum(seed)/3.
	e.want(in, grads[x], 2, -1, -1, 0, 0, 0)
}

// TestAuxiliaryLosses trains a weight on a regularizer alone, whose term is also part of the loss: it
// counts twice. The regularizer of a branch that is only fetched does not count.
func TestAuxiliaryLosses(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 1, 1)
	at := dense(1)
	at.UseBias = false
	at.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.5))
	fc := linear.Apply(g, at, x, graph.Named("fc"))
	side := linear.Apply(g, at, x, graph.Named("side"))
	l := times(g, fc.Node().Tensor(int(linear.SlotRegularization)), 1, "loss")
	sgdAttrs := sgd.Defaults(1)
	p, err := graph.Training(g, l, sgd.Optimizer(sgdAttrs), side)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	in := e.load(p)
	e.feed(in, x, 1)
	w, v := fc.Node().Tensor(int(linear.SlotWeight)), side.Node().Tensor(int(linear.SlotWeight))
	e.feed(in, w, 8)
	e.feed(in, v, 8)
	e.run(in)
	e.want(in, w, 8-2*0.5*8)
	e.want(in, v, 8)
	e.want(in, l, 0.25*64)
}

// TestSharedWeight uses a weight of one node as the input of another: it gets both contributions.
func TestSharedWeight(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 1, 2)
	at := dense(2)
	at.UseBias = false
	y := linear.Apply(g, at, x, graph.Named("fc"))
	w := y.Node().Tensor(int(linear.SlotWeight))
	z := add(g, w, y, graph.Named("sum")) // y is repeated for each row of w
	seed := g.Input("seed", dtype.F64, 2, 2)
	p, grads, err := graph.Gradients(g, tensors{z: seed}, []graph.Tensor{w}, z)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	in := e.load(p)
	e.feed(in, x, 10, 20)
	e.feed(in, w, 1, 2, 3, 4)
	e.feed(in, seed, 1, 1, 1, 1)
	e.run(in)
	e.want(in, z, 1+50, 2+110, 3+50, 4+110)
	e.want(in, grads[w], 1+20, 1+40, 1+20, 1+40)
}

// TestGradientNames checks that gradients do not take the names of inputs.
func TestGradientNames(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 2)
	y := times(g, x, 2, "y")
	seed := g.Input("grad of x", dtype.F64, 2)
	for range 2 {
		_, grads, err := graph.Gradients(g, tensors{y: seed}, []graph.Tensor{x})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(grads[x]); got != "grad of x_1 f64[2]" {
			t.Errorf("the gradient is %s", got)
		}
	}
}
