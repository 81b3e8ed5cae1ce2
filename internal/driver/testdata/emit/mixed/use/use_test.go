package use

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.com/mixed/generated/catalogue"
	"example.com/mixed/generated/choose"
	"example.com/mixed/generated/convert"

	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// load loads a program, with variables initialized.
func load(t *testing.T, p *graph.Program) *engine.Instance {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	t.Cleanup(func() { e.Close() })
	init, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	var in *engine.Instance
	for _, p := range []*graph.Program{init, p} {
		pl, err := planner.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		if in, err = e.Load(pl); err != nil {
			t.Fatal(err)
		}
		if p == init {
			run(t, in)
		}
	}
	return in
}

func run(t *testing.T, in *engine.Instance) {
	t.Helper()
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

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

// TestChoose chooses among integers, booleans and floating-point numbers; only the last have
// gradients.
func TestChoose(t *testing.T) {
	chooseFrom(t, choose.Defaults(), dtype.I32, []int32{1, 2, 3}, []int32{4, 2, 6}, []int32{1, 2, 6}, int32(1))
	chooseFrom(t, choose.Defaults().WithCountType(dtype.I64), dtype.Bool, []bool{true, true, false}, []bool{false, true, true}, []bool{true, true, true}, int64(1))
	chooseFrom(t, choose.Defaults().WithMany(3), dtype.F32, []float32{1, 2, 3}, []float32{4, 2, 6}, []float32{1, 2, 6}, int64(1))
}

func chooseFrom[T, C dtype.Element](t *testing.T, attrs choose.Attrs, typ dtype.Type, first, second, want []T, count C) {
	t.Helper()
	g := graph.New(1)
	cond, x, y := g.Input("cond", dtype.Bool, 3), g.Input("x", typ, 3), g.Input("y", typ, 3)
	out := choose.Apply(g, attrs, choose.Cond(cond), choose.First(x), choose.Second(y))
	seeds, wrt := map[graph.Tensor]graph.Tensor{}, []graph.Tensor(nil)
	seed := g.Input("seed", dtype.F32, 3)
	if typ == dtype.F32 {
		seeds[out.Output], wrt = seed, []graph.Tensor{x, y}
	}
	p, grads, err := graph.Gradients(g, seeds, wrt, out.Output, out.Same, out.Count, out.Rest)
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, p)
	feed(t, in, cond, true, true, false)
	feed(t, in, x, first...)
	feed(t, in, y, second...)
	if typ == dtype.F32 {
		feed[float32](t, in, seed, 10, 20, 30)
	}
	run(t, in)
	expect(t, in, out.Output, want...)
	expect(t, in, out.Same, false, true, false)
	if out.Count.Type() != dtype.Of[C]() || out.Rest.Type() != out.Count.Type() {
		t.Errorf("count is %v, rest %v", out.Count, out.Rest)
	}
	expect(t, in, out.Rest, count)
	if typ == dtype.F32 {
		expect[float32](t, in, grads[x], 10, 20, 0)
		expect[float32](t, in, grads[y], 0, 0, 30)
	}
}

// TestNoGradient differentiates through an operator that has a gradient for other types: none flows.
func TestNoGradient(t *testing.T) {
	g := graph.New(1)
	x, seed := g.Input("x", dtype.F32, 2), g.Input("seed", dtype.F32, 2)
	like := g.Input("like", dtype.F32)
	y := convert.Apply(g, convert.Defaults().WithTo(dtype.U8), x)
	z := convert.Apply(g, convert.Defaults().WithTo(dtype.F32), y)
	w := convert.Apply(g, convert.Defaults().WithTo(dtype.F64), x, graph.With(convert.SlotLike, like))
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{z: seed, w: seed}, []graph.Tensor{x}, z, w)
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, p)
	feed[float32](t, in, x, 1.5, 2.5)
	feed[float32](t, in, seed, 3, 4)
	feed[float32](t, in, like, 0)
	run(t, in)
	expect[float32](t, in, z, 1, 2)
	expect[float32](t, in, w, 1.5, 2.5) // an input binds the type, so the attribute has no effect
	expect[float32](t, in, grads[x], 3, 4)
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		typ  dtype.Type
		to   dtype.Type
		want string
	}{
		{dtype.I64, dtype.I32, "operator example.com/mixed.convert: want element type U in f32, f64, u8, got i32"},
		{dtype.I64, dtype.Invalid, "operator example.com/mixed.convert: want element type U in f32, f64, u8, got i64"},
		{dtype.U8, dtype.Invalid, ""},
	} {
		g := graph.New(1)
		convert.Apply(g, convert.Defaults().WithTo(c.to), g.Input("x", c.typ))
		if err := g.Err(); (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
