package use

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.com/plain/generated/any"
	"example.com/plain/generated/catalogue"
	"example.com/plain/generated/look"
	"example.com/plain/generated/momentum"
	"example.com/plain/generated/ramp"
	"example.com/plain/generated/shape"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func feed[T dtype.Element](t *testing.T, in *engine.Instance, to graph.Tensor, data ...T) {
	t.Helper()
	if err := engine.Feed(in, to.Name(), data); err != nil {
		t.Fatal(err)
	}
}

func expect[T dtype.Element](t *testing.T, in *engine.Instance, from graph.Tensor, want ...T) {
	t.Helper()
	got, err := engine.Fetch[T](in, from.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", from.Name(), got, want)
	}
}

// TestRun runs operators without attributes, without inputs, and of other types than numbers.
func TestRun(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.I32, 2, 0, 3)
	flag, flags := g.Input("flag", dtype.Bool), g.Input("flags", dtype.Bool, 3)
	byte1, bytes := g.Input("byte", dtype.U8), g.Input("bytes", dtype.U8, 2)
	extents := shape.Apply(g, shape.Defaults(), x)
	counted := ramp.Apply(g, ramp.Defaults(attr.ListOf(2, 2), dtype.F32))
	any1 := any.Apply(g, any.Defaults(), any.Type(flag), any.Func(flags))
	any2 := any.Apply(g, any.Defaults(), any.Type(byte1), any.Func(bytes))
	index := g.Input("index", dtype.I32, 3)
	found := look.Apply(g, look.Defaults(), index)
	p, err := graph.Inference(g, extents.Extents, extents.Empty, counted, any1, any2, found)
	if err != nil {
		t.Fatal(err)
	}
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	defer e.Close()
	pl, err := planner.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(pl)
	if err != nil {
		t.Fatal(err)
	}
	feed[int32](t, in, x)
	feed(t, in, flag, false)
	feed(t, in, flags, false, true, false)
	feed[uint8](t, in, byte1, 0)
	feed[uint8](t, in, bytes, 0, 0)
	feed[int32](t, in, index, 4, 1, 5)
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	expect[float64](t, in, found, 2, 1, 0)
	expect[int64](t, in, extents.Extents, 2, 0, 3)
	expect(t, in, extents.Empty, true)
	expect[float64](t, in, counted, 0, 1, 2, 3)
	expect(t, in, any1, true)
	expect[uint8](t, in, any2, 0)
	if err := in.Close(); err != nil { // cleanup looks at both states
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		apply func(*graph.Graph)
		want  string
	}{
		{func(g *graph.Graph) { shape.Apply(g, shape.Defaults(), g.Input("x", dtype.I32, 1, 2, 3, 4)) },
			"operator example.com/plain.shape: [1, 2, 3, 4] has more than 3 dimensions"},
		{func(g *graph.Graph) { shape.Apply(g, shape.Defaults(), g.Input("x", dtype.I64, 1)) },
			"operator example.com/plain.shape, slot input: want element type i32, got i64"},
		{func(g *graph.Graph) { ramp.Apply(g, ramp.Defaults(attr.List[int]{}, dtype.I32)) }, "operator example.com/plain.ramp: i32 is neither f64 nor f32"},
		{func(g *graph.Graph) { ramp.Apply(g, ramp.Defaults(attr.ListOf(2), dtype.Invalid)) }, "operator example.com/plain.ramp: attribute to: want an element type, got none"},
		{func(g *graph.Graph) {
			any.Apply(g, any.Defaults(), any.Type(g.Input("x", dtype.Bool)), any.Func(g.Input("y", dtype.U8, 1)))
		}, "operator example.com/plain.any, slot func: want element type B = bool, got u8"},
		{func(g *graph.Graph) {
			momentum.Optimizer(momentum.Defaults())(g, []graph.Tensor{g.Input("w", dtype.F64, 2)}, []graph.Tensor{g.Input("g", dtype.F64, 3)})
		}, "operator example.com/plain.momentum, slot weight: want N... = [3] in [N...], got [2]"},
	} {
		g := graph.New(1)
		c.apply(g)
		if err := g.Err(); err == nil || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
