package use

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/signature/generated/blend"
	"example.com/signature/generated/catalogue"
	"example.com/signature/generated/tally"

	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func run(t *testing.T, p *graph.Program, feed map[string][]float64) *engine.Instance {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	t.Cleanup(func() { e.Close() })
	built, err := planner.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	data, err := built.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if built, err = plan.Decode(data); err != nil { // the encoded plan holds the arguments
		t.Fatal(err)
	}
	in, err := e.Load(built)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each run starts its reductions from the identity
		for name, values := range feed {
			if err := engine.Feed(in, name, values); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func number(t *testing.T, in *engine.Instance, from graph.Tensor) float64 {
	t.Helper()
	v, err := engine.Fetch[float64](in, from.Name())
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// TestReductions folds elements with each operator, whatever the tensors held before.
func TestReductions(t *testing.T) {
	g := graph.New(1)
	x, y := g.Input("x", dtype.F64, 2, 2), g.Input("y", dtype.F64, 2, 2)
	out := tally.Apply(g, tally.Defaults(), []graph.Tensor{x, y}, 10, "tally")
	p, err := graph.Inference(g, out.Sum, out.Product, out.Least, out.Greatest, out.Positive)
	if err != nil {
		t.Fatal(err)
	}
	in := run(t, p, map[string][]float64{"x": {1, 2, -3, 4}, "y": {0.5, 1, 1, 99}})
	for name, c := range map[string]struct {
		from graph.Tensor
		want float64
	}{"sum": {out.Sum, 16.5}, "product": {out.Product, -120}, "least": {out.Least, -3}, "greatest": {out.Greatest, 10}} {
		if got := number(t, in, c.from); got != c.want {
			t.Errorf("%s is %v, want %v", name, got, c.want)
		}
	}
	if v, err := engine.Fetch[int64](in, out.Positive.Name()); err != nil || v[0] != 7 {
		t.Errorf("positive is %v, %v, want 7", v, err)
	}
}

// TestEmptyReductions folds nothing: the results are what the operators begin with.
func TestEmptyReductions(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 0)
	out := tally.Apply(g, tally.Defaults(), []graph.Tensor{x}, 10, "tally")
	p, err := graph.Inference(g, out.Sum, out.Product, out.Least, out.Greatest)
	if err != nil {
		t.Fatal(err)
	}
	in := run(t, p, nil)
	if s, p, l, m := number(t, in, out.Sum), number(t, in, out.Product), number(t, in, out.Least), number(t, in, out.Greatest); s != 0 || p != 1 || l != math.Inf(1) || m != math.Inf(-1) {
		t.Errorf("got %v, %v, %v, %v; want 0, 1, +Inf, -Inf", s, p, l, m)
	}
}

// TestPassed runs an operator with values that its caller passes.
func TestPassed(t *testing.T) {
	g := graph.New(1)
	first, second := g.Input("first", dtype.F64, 1, 1, 2), g.Input("second", dtype.F64, 1, 1, 2)
	a := blend.Defaults()
	a.Copies = 4
	out := blend.Apply(g, a, blend.First(first), blend.Second(second), blend.Weights{2, 10, 20})
	if len(out) != 4 {
		t.Fatalf("%d outputs, want 4: %v", len(out), g.Err())
	}
	p, err := graph.Inference(g, out...)
	if err != nil {
		t.Fatal(err)
	}
	in := run(t, p, map[string][]float64{"first": {1, 2}, "second": {3, 4}})
	for k := range out {
		v, err := engine.Fetch[float64](in, out[k].Name())
		if want := []float64{2 + 37*float64(k), 4 + 37*float64(k)}; err != nil || !slices.Equal(v, want) {
			t.Errorf("output %d is %v, %v, want %v", k, v, err, want)
		}
	}
}

// TestRefusedValues passes values that the signature rules out.
func TestRefusedValues(t *testing.T) {
	apply := func(values ...any) error {
		g := graph.New(1)
		x := g.Input("x", dtype.F64, 1, 1, 2)
		graph.Insert[int](g, 0, blend.Operator, blend.Defaults()).Bind(int(blend.SlotFirst), x).Bind(int(blend.SlotSecond), x).
			BindArg(int(blend.SlotWeights), values...).Node()
		return g.Err()
	}
	if err := apply(1.0, 2.0); err != nil {
		t.Error(err)
	}
	for want, err := range map[string]error{
		"slot weights: want at least 1 values, got 0":               apply(),
		"slot weights: want a value of type float64, got int":       apply(1.0, 2),
		"slot weights: want a value of type float64, got *float64":  apply(new(float64)),
		"slot weights: want a value of type float64, got []float64": apply([]float64{1}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ...%s", err, want)
		}
	}
}

// stores returns n stores of one shape.
func stores(n int) []*partition.Store {
	var out []*partition.Store
	for range n {
		out = append(out, &partition.Store{Shape: []int{4, 6, 8}, Element: partition.Element{Name: "f32", Bytes: 4}})
	}
	return out
}

// documented is the signature of Legate's documentation, built from data.
func documented() *partition.Declaration {
	return (&partition.Declaration{Task: "example.com/signature.blend.forward"}).
		SetCount("inputs", partition.Exactly(2)).
		SetCount("outputs", partition.Between(3, 5)).
		SetCount("scalars", partition.AtLeast(1)).
		SetConstraints(
			partition.Constraint{Kind: partition.Align, Terms: []partition.Term{partition.At("inputs", 0), partition.At("outputs", 0)}},
			partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("inputs")}},
			partition.Constraint{Kind: partition.Scale, Factors: []int{1, 2, 3}, Terms: []partition.Term{partition.At("outputs", 1), partition.At("inputs", 1)}})
}

// TestDocumentedExample launches the example of Legate's TaskSignature, as a spec and built from data, with
// the numbers of arguments that it allows, and with others.
func TestDocumentedExample(t *testing.T) {
	machine := partition.Machine{Kind: "gpu", Procs: 4, Threshold: 1}
	fromData := func(inputs, outputs, scalars int) error {
		d := documented()
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		l := partition.New(d)
		if err := errors.Join(l.Add("inputs", stores(inputs)...), l.Add("outputs", stores(outputs)...), l.AddScalars("scalars", scalars)); err != nil {
			t.Fatal(err)
		}
		_, err := l.Solve(machine)
		return err
	}
	fromSpec := func(inputs, outputs, scalars int) error {
		l := partition.New(blend.Operator.Signature(task.KindForward).Declaration())
		in := stores(inputs)
		if err := errors.Join(l.Add("first", in[:1]...), l.Add("second", in[1:]...), l.Add("mixed", stores(outputs)...), l.AddScalars("weights", scalars)); err != nil {
			t.Fatal(err)
		}
		_, err := l.Solve(machine)
		return err
	}
	for _, c := range []struct {
		inputs, outputs, scalars int
		data, spec               string // the errors, or "" if the launch is valid
	}{
		{2, 3, 1, "", ""}, {2, 4, 7, "", ""}, {2, 5, 2, "", ""},
		{1, 3, 1, "want 2 inputs, got 1 inputs", "want 1 second, got 0 second"},
		{3, 3, 1, "want 2 inputs, got 3 inputs", "want 1 second, got 2 second"},
		{2, 2, 1, "want 3 to 5 outputs, got 2 outputs", "want 3 to 5 mixed, got 2 mixed"},
		{2, 6, 1, "want 3 to 5 outputs, got 6 outputs", "want 3 to 5 mixed, got 6 mixed"},
		{2, 3, 0, "want at least 1 scalars, got 0 scalars", "want at least 1 weights, got 0 weights"},
	} {
		for _, side := range []struct {
			launch func(inputs, outputs, scalars int) error
			want   string
		}{{fromData, c.data}, {fromSpec, c.spec}} {
			err := side.launch(c.inputs, c.outputs, c.scalars)
			if side.want == "" {
				if err != nil {
					t.Error(err)
				}
				continue
			}
			var e *op.Error
			if !errors.As(err, &e) || e.Code != partition.CountMismatch || err.Error() != "task example.com/signature.blend.forward: "+side.want {
				t.Errorf("%d inputs, %d outputs, %d scalars: got %v, want ...%s", c.inputs, c.outputs, c.scalars, err, side.want)
			}
		}
	}
	// Its constraints are declared, so a launch adds none.
	var e *op.Error
	c := partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("outputs")}}
	for _, d := range []*partition.Declaration{documented(), blend.Operator.Signature(task.KindForward).Declaration(), tally.Operator.Signature(task.KindForward).Declaration()} {
		if err := partition.New(d).AddConstraint(c); !errors.As(err, &e) || e.Code != partition.ConstraintsLocked {
			t.Errorf("got %v, want an error of the code %s", err, partition.ConstraintsLocked)
		}
	}
}
