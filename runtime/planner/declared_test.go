package planner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/cast"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// strategy partitions the first task of a node among four processors.
func strategy(t *testing.T, y graph.Tensor) string {
	t.Helper()
	inv, err := y.Node().Invoke()
	if err != nil {
		t.Fatal(err)
	}
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Solve(partition.Machine{Kind: "cpu", Procs: 4, Threshold: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s.Argument(0).String() + " " + s.Argument(1).String()
}

// TestNamedAxes keeps the axis whole that an attribute, a dimension, a run or a negative number names.
func TestNamedAxes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		axis int
		want string
	}{{0, "[16, 16/2, 16/2] [16, 16/2, 16/2]"}, {1, "[16/2, 16, 16/2] [16/2, 16, 16/2]"}, {-1, "[16/2, 16/2, 16] [16/2, 16/2, 16]"}} {
		g := graph.New(1)
		y := reverse.Apply(g, reverse.Defaults(tt.axis), g.Input("x", dtype.F32, 16, 16, 16))
		if got := strategy(t, y); got != tt.want {
			t.Errorf("axis %d: got %s, want %s", tt.axis, got, tt.want)
		}
	}
	whole := func(c partition.Constraint) partition.Constraint {
		c.Kind, c.Terms = partition.Broadcast, []partition.Term{partition.Whole("input")}
		return c
	}
	for _, tt := range []struct {
		c    partition.Constraint
		want string
	}{
		{whole(partition.Constraint{Axes: []int{-1}}), "[64/4, 64] [64/4, 64]"},
		{whole(partition.Constraint{Axes: []int{0}}), "[64, 64] [64, 64]"},
		{whole(partition.Constraint{Dims: []string{"A"}}), "[64, 64] [64, 64]"},
		{whole(partition.Constraint{Dims: []string{"B"}}), "[64/4, 64] [64/4, 64]"},
		{whole(partition.Constraint{Dims: []string{"dim"}}), "[64/4, 64] [64/4, 64]"},
	} {
		if got := strategy(t, rows(graph.New(1), tt.c)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.c, got, tt.want)
		}
	}
}

// rows applies softmax to rows with a constraint: rows may be divided, columns not.
func rows(g *graph.Graph, c partition.Constraint) graph.Tensor {
	return softmax.Apply(g, along(1), g.Input("x", dtype.F32, 64, 64), graph.Constrain(task.KindForward, c))
}

// TestUnknownAxis names an axis that there is not.
func TestUnknownAxis(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	c := partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("input")}, Dims: []string{"Q"}}
	_, err := graph.Inference(g, rows(g, c))
	var e *op.Error
	if !errors.As(err, &e) || e.Code != partition.AxisOutOfRange || !strings.Contains(err.Error(), "a dimension of its shape [A..., R, B...]") {
		t.Errorf("got %v", err)
	}
}

// TestAxesAttribute keeps the axes whole that the attribute axes of layer_norm lists.
func TestAxesAttribute(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	c := partition.Constraint{Kind: partition.MinExtents, Terms: []partition.Term{partition.Whole("input")}, Dims: []string{"axes"}, Extents: []int{4}}
	y := layernorm.Apply(g, layernorm.Defaults(attr.ListOf(-1)), g.Input("x", dtype.F32, 8, 4), graph.Constrain(task.KindForward, c))
	prog, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(prog)
	if err != nil {
		t.Fatal(err)
	}
	if got := forward(t, p).Access[0].Least; len(got) != 2 || got[0] != 0 || got[1] != 4 {
		t.Errorf("got %v", got)
	}
}

// TestDeclaredConstraints breaks constraints that operators of the catalogue declare, by hand: programs are
// refused.
func TestDeclaredConstraints(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x, other := g.Input("x", dtype.F32, 4, 3), g.Input("other", dtype.F32, 4, 2)
	for name, y := range map[string]graph.Tensor{"cast": cast.Apply(g, cast.Defaults(dtype.F64), x), "reverse": reverse.Apply(g, reverse.Defaults(1), x)} {
		inv, err := y.Node().Invoke()
		if err != nil {
			t.Fatal(err)
		}
		inv.Operands[0] = []graph.Tensor{other}
		_, err = planner.Build(&graph.Program{Steps: []graph.Step{{Phase: graph.Forward, Invocation: inv}}, Fed: []graph.Tensor{other}})
		var e *op.Error
		if !errors.As(err, &e) || e.Code != partition.AlignShape || !strings.Contains(err.Error(), "node "+name) || !strings.Contains(err.Error(), "align(input, output)") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
