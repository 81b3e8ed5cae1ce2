package kernels_test

import (
	"context"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// TestGradients compares the gradients that kernels compute with central differences of a weighted sum of the
// outputs. It weights all outputs, and then each output alone: the gradients of the others count as 0.
func TestGradients(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		if !s.double() || !f.differentiable() {
			return
		}
		checkGradients(t, f, f.seeds)
		if len(f.seeds) == 1 {
			return
		}
		for out, seed := range f.seeds {
			t.Run(out.Name(), func(t *testing.T) { checkGradients(t, f, map[graph.Tensor]graph.Tensor{out: seed}) })
		}
	})
}

// TestEveryGradientIsCompared checks the examples of every operator with a backward task. TestGradients must
// compare one of them with differences, and TestGradientsInSinglePrecision one of them with f64.
func TestEveryGradientIsCompared(t *testing.T) {
	compared := map[string][2]bool{}
	forEachSample(t, func(t *testing.T, s sample) {
		if f := mustFixture(t, s); f.differentiable() {
			c := compared[s.op.Name]
			compared[s.op.Name] = [2]bool{c[0] || s.double(), c[1] || !s.double()}
		}
	})
	for _, op := range catalogue.Operators() {
		if c := compared[op.Name]; op.Signature(task.KindBackward) != nil && c != [2]bool{true, true} {
			t.Errorf("%s: want an example with gradients in f64, and one in f32, got %v", op.Name, c)
		}
	}
}

func checkGradients(t *testing.T, f *fixture, seeds map[graph.Tensor]graph.Tensor) {
	t.Helper()
	p, grads := f.backward(t, seeds, f.wrt)
	got := mustRun(t, p, f.values, execution{})
	want := newDifferences(t, f, seeds)
	abs := max(1e-9, 0x1p-51*math.Abs(want.sum(t))/step) // the rounding error of a difference
	for _, x := range f.wrt {
		have := make([]float64, len(f.values[x.Name()])) // zeros, if the outputs do not depend on x
		if g, ok := grads[x]; ok {
			have = got[g.Name()]
		}
		closeTo(t, "gradient of "+x.Name(), have, want.by(t, x), 1e-6, abs)
	}
}

// step is the distance of the two points of a central difference from the value between them.
const step = 1e-5

// differences computes derivatives of a weighted sum of outputs by central differences.
type differences struct {
	f      *fixture
	seeds  map[graph.Tensor]graph.Tensor
	engine *engine.Engine
	init   *engine.Instance // nil if there are no variables
	plan   *plan.Plan
	fed    []graph.Tensor
}

func newDifferences(t *testing.T, f *fixture, seeds map[graph.Tensor]graph.Tensor) *differences {
	t.Helper()
	p := f.forward(t)
	d := &differences{f: f, seeds: seeds, engine: engine.New(observed(t), cpu.New(cpu.Config{Workers: 1}), engine.Config{}), fed: slices.Concat(p.Fed, p.Variables)}
	t.Cleanup(func() {
		if err := d.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	build := func(p *graph.Program) *plan.Plan {
		pl, err := planner.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	if len(p.Variables) > 0 {
		init, err := graph.Initialization(p)
		if err != nil {
			t.Fatal(err)
		}
		if d.init, err = d.engine.Load(build(init)); err != nil {
			t.Fatal(err)
		}
	}
	d.plan = build(p)
	return d
}

// by returns the derivatives with respect to the elements of a tensor.
func (d *differences) by(t *testing.T, x graph.Tensor) []float64 {
	t.Helper()
	v := d.f.values[x.Name()]
	out := make([]float64, len(v))
	for i, at := range v {
		v[i] = at + step
		above := d.sum(t)
		v[i] = at - step
		below := d.sum(t)
		v[i] = at
		out[i] = (above - below) / (2 * step)
	}
	return out
}

// sum computes the weighted sum. It loads the plan again, since random numbers depend on the number of the
// run. It initializes the variables again, since the operator may change them.
func (d *differences) sum(t *testing.T) float64 {
	t.Helper()
	if d.init != nil {
		if err := d.init.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	in, err := d.engine.Load(d.plan)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, x := range d.fed {
		if v, ok := d.f.values[x.Name()]; ok {
			if err := feed(in, x.Name(), x.Type(), v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	var sum float64
	for out, seed := range d.seeds {
		y, err := fetch(in, out)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range d.f.values[seed.Name()] {
			if math.IsInf(y[i], 0) && folded(out) {
				continue // an extreme of nothing depends on nothing
			}
			sum += w * y[i]
		}
	}
	return sum
}

// TestGradientsInSinglePrecision compares results and gradients in f32 with those in f64, on equal inputs.
func TestGradientsInSinglePrecision(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		if s.double() || !f.differentiable() {
			return
		}
		g := mustFixture(t, s.wide())
		single := mustRun(t, f.everything(t), f.values, execution{})
		double := mustRun(t, g.everything(t), g.values, execution{})
		if len(single) != len(double) {
			t.Fatalf("got %d results, want %d", len(single), len(double))
		}
		for _, name := range slices.Sorted(maps.Keys(double)) {
			closeTo(t, name, single[name], double[name], 1e-4, 1e-6)
		}
	})
}

// wide returns the sample with f64 in place of f32.
func (s sample) wide() sample {
	out := s
	out.types = slices.Clone(s.types)
	for i, typ := range out.types {
		if typ == dtype.F32 {
			out.types[i] = dtype.F64
		}
	}
	if _, err := newFixture(out, domains[0]); err != nil {
		out.attrs = retyped(s.attrs, dtype.F64) // the attributes ask for f32
	}
	return out
}

// retyped returns attributes in which another type replaces f32. An absent type stands for f32, and is
// replaced too.
func retyped(attrs task.Attrs, to dtype.Type) task.Attrs {
	out := reflect.New(reflect.TypeOf(attrs)).Elem()
	out.Set(reflect.ValueOf(attrs))
	for i := range out.NumField() {
		if !out.Field(i).CanInterface() {
			continue // whether Defaults made them
		}
		if typ, ok := out.Field(i).Interface().(dtype.Type); ok && (typ == dtype.F32 || typ == dtype.Invalid) {
			out.Field(i).Set(reflect.ValueOf(to))
		}
	}
	return out.Interface().(task.Attrs)
}

// TestUnusedGradients computes every gradient alone. Its bits must be the same as in a program that computes
// all gradients.
func TestUnusedGradients(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		if !f.differentiable() || len(f.wrt) < 2 {
			return
		}
		all := mustRun(t, f.everything(t), f.values, execution{})
		for _, x := range f.wrt {
			p, grads := f.backward(t, f.seeds, []graph.Tensor{x})
			one := mustRun(t, p, f.values, execution{})
			name := grads[x].Name()
			sameBits(t, "alone", values{name: one[name]}, values{name: all[name]})
		}
	})
}

// TestTwoConsumers applies an operator twice to the same inputs. The gradient of each input is the sum of two
// contributions: the second is 3 times the first, so the sum is 4 times the first.
func TestTwoConsumers(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		if !f.differentiable() || s.draws() {
			return // two nodes draw other numbers
		}
		p, single := f.backward(t, f.seeds, f.wrt)
		once := mustRun(t, p, f.values, execution{})
		second := s.apply(f.g, "second", func(slot, k int, _ task.Operand) graph.Tensor { return f.node.Tensors(slot)[k] })
		seeds := maps.Clone(f.seeds)
		fed := maps.Clone(f.values)
		for slot := range s.op.Slots {
			for k, x := range f.node.Tensors(slot) {
				y := second.Tensors(slot)[k]
				if seed, ok := f.seeds[x]; ok {
					seeds[y] = f.g.Input("seed of "+y.Name(), y.Type(), y.Shape()...)
					fed[seeds[y].Name()] = scaled(f.values[seed.Name()], 3)
				} else if v, ok := f.values[x.Name()]; ok {
					fed[y.Name()] = v
				}
			}
		}
		p, grads := f.backward(t, seeds, f.wrt)
		both := mustRun(t, p, fed, execution{workers: 2})
		for _, x := range f.wrt {
			if !f.input(x) {
				continue
			}
			closeTo(t, "gradient of "+x.Name(), both[grads[x].Name()], scaled(once[single[x].Name()], 4), 4*s.precision(), 0)
		}
	})
}

// TestSameTensorTwice binds one tensor to all trainable inputs of the same type and shape.
func TestSameTensorTwice(t *testing.T) {
	tested := 0
	forEachSample(t, func(t *testing.T, s sample) {
		inputs := len(mustFixture(t, s).inputs)
		s.shared = true
		f := mustFixture(t, s)
		if !s.double() || !f.differentiable() || len(f.inputs) == inputs {
			return
		}
		tested++
		checkGradients(t, f, f.seeds)
	})
	if tested == 0 {
		t.Error("want an example with two trainable inputs of the same type and shape, got none")
	}
}

// precision bounds the relative error that the order of additions may cause.
func (s sample) precision() float64 {
	if s.double() {
		return 1e-13
	}
	return 1e-5
}

// input reports whether a tensor is an input of the graph.
func (f *fixture) input(x graph.Tensor) bool { return x.Node() == nil }

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = by * x
	}
	return out
}
