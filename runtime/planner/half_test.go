package planner_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

// classifier returns a training step of a network that is stored in the given type. One tensor has two
// consumers, so that gradients are added up, and one is a view.
func classifier(t *testing.T, typ dtype.Type) *graph.Program {
	t.Helper()
	g := graph.New(3)
	x, label := g.Input("x", typ, 8, 2, 3), g.Input("label", dtype.I32, 8, 1)
	h := linear.Apply(g, linear.Defaults(16).WithActivation(activation.Relu), flat.Apply(g, flat.Defaults().WithStartDim(1), x))
	a := linear.Apply(g, linear.Defaults(16).WithUseBias(false).WithActivation(activation.Gelu), h)
	b := linear.Apply(g, linear.Defaults(4), h)
	c := linear.Apply(g, linear.Defaults(4).WithUseBias(false), a)
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(b), elementbinary.RhsInput(c))), scce.Label(label))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.5)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// losses takes training steps and returns the losses.
func losses(t *testing.T, typ dtype.Type, workers int) []float32 {
	t.Helper()
	p := classifier(t, typ)
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: workers}), engine.Config{})
	defer e.Close()
	init, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	first, err := e.Load(build(t, init))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(build(t, p))
	if err != nil {
		t.Fatal(err)
	}
	x, label := make([]float32, 48), make([]int32, 8)
	for i := range x {
		x[i] = float32(math.Sin(float64(3 * i)))
		label[i%8] = int32(i % 4)
	}
	var out []float32
	for range 40 {
		if err := engine.Feed(in, "x", x); err != nil {
			t.Fatal(err)
		}
		if err := engine.Feed(in, "label", label); err != nil {
			t.Fatal(err)
		}
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		l, err := engine.Fetch[float32](in, p.Fetched[0].Name())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l[0])
	}
	return out
}

// TestHalfTraining trains in 16 bits: losses fall as they do in f32, and do not depend on the number
// of workers.
func TestHalfTraining(t *testing.T) {
	single := losses(t, dtype.F32, 1)
	for typ, off := range map[dtype.Type]float64{dtype.F16: 0.02, dtype.BF16: 0.15} {
		got := losses(t, typ, 1)
		if last := got[len(got)-1]; last > got[0]/2 {
			t.Errorf("%v: losses %v do not fall", typ, got)
		}
		for i := range got {
			if !(math.Abs(float64(got[i]-single[i])) <= off) {
				t.Errorf("%v: loss %d is %v, in f32 %v", typ, i, got[i], single[i])
				break
			}
		}
		if !slices.Equal(losses(t, typ, 3), got) {
			t.Errorf("%v: losses depend on the number of workers", typ)
		}
	}
}

// TestHalfPlan checks what a plan does about tensors in 16 bits: variables and activations are stored
// so, calls work on f32, and what is added up is added in the tensor's own memory.
func TestHalfPlan(t *testing.T) {
	p := build(t, classifier(t, dtype.BF16))
	ops := map[string]int{}
	var count func(label string, tasks ...plan.Task)
	count = func(label string, tasks ...plan.Task) {
		for _, x := range tasks {
			switch {
			case x.Group != nil:
				count(label, x.Group.Parts...)
				continue
			case x.Builtin != nil:
				ops[x.Builtin.Op]++
				continue
			}
			for _, a := range x.Access {
				if p.Roots[a.Root].Type == dtype.BF16 {
					t.Errorf("%s works on %s, which is stored in 16 bits", label, p.Roots[a.Root].Name)
				}
			}
		}
	}
	for i := range p.Tasks {
		count(p.Label(i), p.Tasks[i])
	}
	if ops["convert"] == 0 || ops["add"] == 0 {
		t.Errorf("built-in operations are %v", ops)
	}
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Use == plan.Variable && r.Type != dtype.BF16 {
			t.Errorf("variable %s is stored as %v", r.Name, r.Type)
		}
	}
	if plain := build(t, classifier(t, dtype.F32)); p.VariableBytes() != plain.VariableBytes()/2 {
		t.Errorf("variables take %d bytes, in f32 %d", p.VariableBytes(), plain.VariableBytes())
	}
}
