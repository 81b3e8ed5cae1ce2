package optest

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Gradients compares the gradients that kernels compute with central differences of a weighted sum of the
// outputs. It weights all outputs, and then each output alone: the gradients of the others count as 0. It
// does so in double precision, or in single precision where there is no other.
func (k *Kit) Gradients(t *testing.T) {
	k.forEachSample(t, "Gradients", func(t *testing.T, s sample) {
		f := s.fixture(t)
		if !f.differentiable() || !s.double() && s.widens() {
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

// EveryGradientIsCompared checks the examples of every operator with a backward task: Gradients compares one
// of them with differences, and GradientsInSinglePrecision one of them with double precision.
func (k *Kit) EveryGradientIsCompared(t *testing.T) {
	compared := map[string][2]bool{}
	whole := k.forEachSample(t, "EveryGradientIsCompared", func(t *testing.T, s sample) {
		if f := s.fixture(t); f.differentiable() {
			c := compared[s.title()]
			compared[s.title()] = [2]bool{c[0] || s.double(), c[1] || !s.double()}
		}
	})
	for _, o := range k.operators {
		if o.Signature(task.KindBackward) == nil || !whole[o] {
			continue
		}
		for i, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			if k.computes(o, typ) && !compared[k.title(&o.Operator)][i] {
				t.Errorf("operator %s: want an example with gradients in %v, got none", k.title(&o.Operator), typ)
			}
		}
	}
}

// computes reports whether an operator has a kernel for a choice of element types that contains typ.
func (k *Kit) computes(o *graph.Operator, typ dtype.Type) bool {
	return slices.ContainsFunc(k.variants(o), func(v task.Variant) bool { return slices.Contains(v.Types, typ) })
}

// checkGradients compares the gradients that a program computes from those in seeds.
func checkGradients(t *testing.T, f *fixture, seeds map[graph.Tensor]graph.Tensor) {
	t.Helper()
	p, grads := f.backward(t, seeds, f.wrt)
	compareGradients(t, f, seeds, p, grads, f.run(t, p, f.values, Execution{}))
}

// compareGradients compares gradients among the results of a program with differences. Of outputs that are
// not finite, which tell no derivatives, the gradients count as 0. A gradient that is not finite must be what
// the formula gives.
func compareGradients(t *testing.T, f *fixture, seeds map[graph.Tensor]graph.Tensor, p *graph.Program, grads map[graph.Tensor]graph.Tensor, got values) {
	t.Helper()
	want := newDifferences(t, f, seeds)
	if want.masked {
		got = f.run(t, p, want.fed, Execution{})
	}
	surrogates := f.surrogates()
	for _, x := range f.wrt {
		if surrogates[x] {
			continue
		}
		have := make([]float64, len(f.values[x.Name()])) // zeros, if the outputs do not depend on x
		if g, ok := grads[x]; ok {
			have = got[g.Name()]
		}
		quotients := want.by(t, x)
		if g, ok := grads[x]; ok && slices.ContainsFunc(have, nonfinite) {
			told := f.expected(t, p, want.fed)[g.Name()]
			for i := range min(len(have), len(told), len(quotients)) {
				if nonfinite(have[i]) && same(have[i], told[i]) {
					quotients[i] = have[i]
				}
			}
		}
		f.closeTo(t, fmt.Sprintf("gradient of %s, next to difference quotients", x.Name()), have, quotients, want.relative, want.absolute)
	}
}

// surrogates returns the tensors of which the formula gives a gradient that is no derivative, and says so.
func (f *fixture) surrogates() map[graph.Tensor]bool {
	out := map[graph.Tensor]bool{}
	parsed, _ := expr.ParseFormula(strings.Join(f.op.Formula, "\n"))
	for _, s := range parsed.Statements {
		if !s.Surrogate {
			continue
		}
		for slot := range f.op.Slots {
			if f.op.Slots[slot].Name == s.Gradient() {
				for _, x := range f.node.Tensors(slot) {
					out[x] = true
				}
			}
		}
	}
	return out
}

// differences computes derivatives of a weighted sum of outputs by central differences.
type differences struct {
	f       *fixture
	seeds   map[graph.Tensor]graph.Tensor
	forward *loaded
	fed     values // those of the fixture, but gradients of 0 for outputs that are not finite
	masked  bool   // whether there are any
	// step is the distance of the two points of a difference from the value between them.
	step float64
	// relative and absolute are the tolerances of derivatives.
	relative, absolute float64
}

func newDifferences(t *testing.T, f *fixture, seeds map[graph.Tensor]graph.Tensor) *differences {
	t.Helper()
	d := &differences{f: f, seeds: seeds, forward: f.load(t, f.forward(t), Execution{}), fed: maps.Clone(f.values)}
	t.Cleanup(func() { f.close(t, d.forward) })
	results := f.runLoaded(t, d.forward, f.values, Execution{})
	for out, seed := range seeds {
		own := slices.Clone(f.values[seed.Name()])
		for i := range own {
			if nonfinite(results[out.Name()][i]) {
				own[i], d.masked = 0, true
			}
		}
		d.fed[seed.Name()] = own
	}
	d.step, d.relative, d.absolute = 1e-5, 1e-6, 1e-9
	rounding := 0x1p-51
	if !f.double() {
		d.step, d.relative, d.absolute, rounding = 0x1p-7, 1e-2, 1e-3, 0x1p-22
	}
	d.absolute = max(d.absolute, rounding*math.Abs(d.sum(t))/d.step) // the rounding error of a difference
	return d
}

// by returns the derivatives with respect to the elements of a tensor.
func (d *differences) by(t *testing.T, x graph.Tensor) []float64 {
	t.Helper()
	v := d.f.values[x.Name()]
	out := make([]float64, len(v))
	for i, at := range v {
		v[i] = at + d.step
		above := d.sum(t)
		v[i] = at - d.step
		below := d.sum(t)
		v[i] = at
		out[i] = (above - below) / (2 * d.step)
	}
	return out
}

// sum computes the weighted sum.
func (d *differences) sum(t *testing.T) float64 {
	t.Helper()
	results := d.f.runLoaded(t, d.forward, d.f.values, Execution{})
	var sum float64
	for out, seed := range d.seeds {
		y := results[out.Name()]
		for i, w := range d.fed[seed.Name()] {
			if w != 0 {
				sum += w * y[i]
			}
		}
	}
	return sum
}

// GradientsInSinglePrecision compares results and gradients in f32 with those in f64, on equal inputs.
func (k *Kit) GradientsInSinglePrecision(t *testing.T) {
	k.forEachSample(t, "GradientsInSinglePrecision", func(t *testing.T, s sample) {
		f := s.fixture(t)
		if s.double() || !f.differentiable() || !s.widens() {
			return
		}
		g, err := newFixture(s.wide(), f.domain)
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		single := f.run(t, f.everything(t), f.values, Execution{})
		double := f.run(t, g.everything(t), g.values, Execution{})
		if len(single) != len(double) {
			s.fatalf(t, "got %d results, want %d", len(single), len(double))
		}
		for _, name := range slices.Sorted(maps.Keys(double)) {
			want := slices.Clone(double[name])
			for i, v := range want {
				want[i] = float64(float32(v)) // what overflows is infinite
			}
			f.closeTo(t, name+", next to the result in f64", single[name], want, 1e-4, 1e-6)
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

// widens reports whether the operator has kernels for the sample with f64 in place of f32.
func (s sample) widens() bool {
	w := s.wide()
	if _, err := s.kit.tasks.Task(s.op.Main().ID).Variant(op.CPU, w.types); err != nil || slices.Equal(w.types, s.types) {
		return false
	}
	_, err := newFixture(w, domains[0])
	return err == nil
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

// UnusedGradients computes every gradient alone. Its bits must be the same as in a program that computes
// all gradients.
func (k *Kit) UnusedGradients(t *testing.T) {
	k.forEachSample(t, "UnusedGradients", func(t *testing.T, s sample) {
		f := s.fixture(t)
		if !f.differentiable() || len(f.wrt) < 2 {
			return
		}
		all := f.run(t, f.everything(t), f.values, Execution{})
		for _, x := range f.wrt {
			p, grads := f.backward(t, f.seeds, []graph.Tensor{x})
			one := f.run(t, p, f.values, Execution{})
			name := grads[x].Name()
			f.sameBits(t, "a gradient that is computed alone, next to one among others", values{name: one[name]}, values{name: all[name]})
		}
	})
}

// TwoConsumers applies an operator twice to the same inputs. The gradient of each input is the sum of two
// contributions, which are computed alone before. The outputs of the second node have gradients 3 times as
// large.
func (k *Kit) TwoConsumers(t *testing.T) {
	k.forEachSample(t, "TwoConsumers", func(t *testing.T, s sample) {
		f := s.fixture(t)
		if !f.differentiable() {
			return
		}
		second := s.apply(f.g, "second", func(slot, k int, _ task.Operand) graph.Tensor { return f.node.Tensors(slot)[k] })
		others, seeds := map[graph.Tensor]graph.Tensor{}, maps.Clone(f.seeds)
		fed := maps.Clone(f.values)
		for slot := range s.op.Slots {
			for k, x := range f.node.Tensors(slot) {
				y := second.Tensors(slot)[k]
				if seed, ok := f.seeds[x]; ok {
					others[y] = f.g.Input("seed of "+y.Name(), y.Type(), y.Shape()...)
					seeds[y] = others[y]
					fed[seeds[y].Name()] = scaled(f.values[seed.Name()], 3)
				} else if v, ok := f.values[x.Name()]; ok {
					fed[y.Name()] = v
				}
			}
		}
		gradients := func(seeds map[graph.Tensor]graph.Tensor) func(graph.Tensor) []float64 {
			p, grads := f.backward(t, seeds, f.wrt)
			v := f.run(t, p, fed, Execution{Workers: 2})
			return func(x graph.Tensor) []float64 { return v[grads[x].Name()] }
		}
		first, other, both := gradients(f.seeds), gradients(others), gradients(seeds)
		for _, x := range f.wrt {
			if !f.input(x) {
				continue // each node has weights of its own
			}
			want := slices.Clone(first(x))
			for i, v := range other(x) {
				want[i] += v
			}
			f.closeTo(t, "gradient of "+x.Name()+", next to the sum of those of two nodes", both(x), want, 4*s.precision(), 0)
		}
	})
}

// SameTensorTwice binds one tensor to all trainable inputs of the same type and shape. It returns how often
// it did so.
func (k *Kit) SameTensorTwice(t *testing.T) int {
	tested := 0
	k.forEachSample(t, "SameTensorTwice", func(t *testing.T, s sample) {
		inputs := len(s.fixture(t).inputs)
		s.shared = true
		f := s.fixture(t)
		if !s.double() || !f.differentiable() || len(f.inputs) == inputs {
			return
		}
		tested++
		checkGradients(t, f, f.seeds)
	})
	return tested
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
