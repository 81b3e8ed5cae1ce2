package use

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.com/gather/generated/catalogue"
	"example.com/gather/generated/gather"
	"example.com/gather/generated/windows"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func load(t *testing.T, p *graph.Program) *engine.Instance {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	t.Cleanup(func() { e.Close() })
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

// TestGather takes columns of a masked matrix, of 32-bit elements at 64-bit indices, and scatters
// the gradient back.
func TestGather(t *testing.T) {
	g := graph.New(1)
	data := g.Input("data", dtype.F32, 2, 3)
	indices := g.Input("indices", dtype.I64, 2, 1)
	mask := g.Input("mask", dtype.Bool, 2)
	seed := g.Input("seed", dtype.F32, 2, 2, 1)
	out := gather.Apply(g, gather.Defaults().WithAxis(-1), gather.Data(data), gather.Indices(indices), graph.With(gather.SlotMask, mask))
	if got := out.Output.String(); got != "gather.output f32[2, 2, 1]" {
		t.Fatalf("output is %s", got)
	}
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{out.Output: seed}, []graph.Tensor{data}, out.Output, out.Taken)
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, p)
	feed[float32](t, in, data, 1, 2, 3, 4, 5, 6)
	feed[int64](t, in, indices, 2, 2)
	feed(t, in, mask, false, true)
	feed[float32](t, in, seed, 1, 2, 3, 4)
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	expect[float32](t, in, out.Output, 0, 0, 6, 6)
	expect[int32](t, in, out.Taken, 1)
	expect[float32](t, in, grads[data], 0, 0, 3, 0, 0, 7)
}

func TestGatherRefuses(t *testing.T) {
	for _, c := range []struct {
		data, mask []int
		axis       int
		want       string
	}{
		{[]int{2, 3}, []int{3}, 1, "operator example.com/gather.gather, slot mask: want X[:axis]... = [2] in [X[:axis]...], got [3]"},
		{[]int{2, 3}, []int{2}, 0, "operator example.com/gather.gather, slot mask: want 0 dimensions [X[:axis]...], got [2]"},
		{nil, []int{}, 0, "operator example.com/gather.gather, slot data: want attribute axis between 0 and -1 for [], got 0"},
	} {
		g := graph.New(1)
		data, mask := g.Input("data", dtype.F64, c.data...), g.Input("mask", dtype.Bool, c.mask...)
		gather.Apply(g, gather.Defaults().WithAxis(c.axis), gather.Data(data), gather.Indices(g.Input("indices", dtype.I32)), graph.With(gather.SlotMask, mask))
		refused(t, g, c.want)
	}
}

func refused(t *testing.T, g *graph.Graph, want string) {
	t.Helper()
	if err := g.Err(); err == nil {
		t.Errorf("no error, want %s", want)
	} else if !strings.HasSuffix(err.Error(), ": "+want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestWindows checks the shapes that conditions and optional attributes give, among them those whose
// other branch would fail.
func TestWindows(t *testing.T) {
	narrow, wide, joined := windows.Defaults(), windows.Defaults(), windows.Defaults()
	wide.Axes = attr.ListOf(0)
	wide.Width = attr.Some(7)
	joined.Start, joined.End = 1, attr.Some(-1)
	sums := windows.Defaults()
	sums.Axes, sums.Start = attr.ListOf(1, -2, 2), -1
	far, factor, empty := windows.Defaults(), windows.Defaults(), windows.Defaults()
	far.Axes = attr.ListOf(0, 2)
	factor.Factor = 4.5
	empty.Start, empty.End, empty.Sizes = 1, attr.Some(1), attr.Some(attr.ListOf(3))
	for _, c := range []struct {
		attrs windows.Attrs
		input []int
		edge  []int
		want  string // the output, or the error
	}{
		{narrow, []int{5, 3}, []int{2, 15, 4}, "f64[1, 15, 4]"},
		{wide, []int{5}, []int{1, 5}, "f64[1, 5, 7]"},
		{joined, []int{4, 3, 2, 9}, []int{1, 54}, "f64[4, 6, 7, 9]"},
		{sums, []int{2, 3, 4}, []int{0, 4}, "f64[2, 3, 4, 3]"},
		{narrow, []int{2, 3}, []int{1, 7}, "operator example.com/gather.windows, slot edge: want prod(X[start:]) = 6 in [_, prod(X[start:]), _...], got 7 in [1, 7]"},
		{narrow, []int{1, 2}, []int{1, 2}, "operator example.com/gather.windows: edge is passed exactly if len(X) in [1, 1.5] || present(input) && X != [1, 2]"},
		{far, []int{2, 3}, []int{1, 6}, "operator example.com/gather.windows, slot input: want attribute axes between -2 and 1 for [2, 3], got 2"},
		{factor, []int{2, 3}, []int{1, 6}, "operator example.com/gather.windows: factor 4.5 is too large"},
		{empty, []int{2, 3}, []int{1, 3}, "operator example.com/gather.windows: sizes need a dimension after 1, and before 1"},
		{narrow, []int{5}, []int{1, 5}, "operator example.com/gather.windows: want a dimension of [5], got 1"},
	} {
		g := graph.New(1)
		out := windows.Apply(g, c.attrs, windows.Input(g.Input("x", dtype.F64, c.input...)), windows.Edge(g.Input("edge", dtype.F64, c.edge...)))
		if strings.HasPrefix(c.want, "operator") {
			refused(t, g, c.want)
		} else if err := g.Err(); err != nil || out.Operand().String() != c.want {
			t.Errorf("%v: got %v, %v, want %s", c.input, out.Operand(), err, c.want)
		}
	}
}
