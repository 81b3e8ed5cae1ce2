package use

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.com/lanes/generated/catalogue"
	"example.com/lanes/generated/lanenorm"
	"example.com/lanes/generated/normmode"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func run(t *testing.T, programs ...*graph.Program) *engine.Instance {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	t.Cleanup(func() { e.Close() })
	var last *engine.Instance
	for i, p := range programs {
		pl, err := planner.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		if last, err = e.Load(pl); err != nil {
			t.Fatal(err)
		}
		if i < len(programs)-1 {
			if err := last.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return last
}

func feed(t *testing.T, in *engine.Instance, to graph.Tensor, data ...float64) {
	t.Helper()
	if err := engine.Feed(in, to.Name(), data); err != nil {
		t.Fatal(err)
	}
}

func fetch(t *testing.T, in *engine.Instance, from graph.Tensor) []float64 {
	t.Helper()
	data, err := engine.Fetch[float64](in, from.Name())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLanes runs along the middle dimension: lanes of all views, optional ones too, are its own.
func TestLanes(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 2, 2, 3)
	y := g.Input("y", dtype.F64, 2, 2, 3)
	a := lanenorm.Defaults(lanenorm.NewOrigin("test", 3))
	a.Dim = -2
	a.Penalty = attr.Some(lanenorm.NewPenalty(lanenorm.PenaltyKindSquare, 0.25))
	out := lanenorm.Apply(g, a, lanenorm.Input(x), lanenorm.Bias{}, graph.With(lanenorm.SlotResidual, y), graph.Request(lanenorm.SlotUnit))
	n := out.Node()
	unit, term := n.Tensor(int(lanenorm.SlotUnit)), n.Tensor(int(lanenorm.SlotPenaltyTerm))
	p, err := graph.Inference(g, out, unit, term)
	if err != nil {
		t.Fatal(err)
	}
	start, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	in := run(t, start, p)
	feed(t, in, x, 3, 0, 5, 4, 2, 12, 0, 8, 1, 1, 6, 0)
	feed(t, in, y, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2)
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []float64{3. / 5, 0, 5. / 13, 4. / 5, 1, 12. / 13, 0, 0.8, 1, 1, 0.6, 0}
	if got := fetch(t, in, unit); !slices.Equal(got, want) {
		t.Errorf("unit = %v, want %v", got, want)
	}
	for i := range want {
		want[i] += float64(1 + i/6)
	}
	if got := fetch(t, in, out); !slices.Equal(got, want) {
		t.Errorf("output = %v, want %v", got, want)
	}
	if got := fetch(t, in, term); got[0] != 0.5 {
		t.Errorf("penalty_term = %v, want 0.5", got)
	}
}

func TestConditions(t *testing.T) {
	defaults := lanenorm.Defaults(lanenorm.NewOrigin("", 0))
	literal := lanenorm.Defaults(lanenorm.Origin{Level: 1})
	shifted := defaults.WithMode(normmode.Shifted)
	fast := defaults.WithModes(attr.ListOf(lanenorm.ModesFast, 7))
	marked := defaults.WithMarks(attr.ListOf(4, 10))
	level := lanenorm.Defaults(lanenorm.NewOrigin("", 4))
	every := defaults.WithPenalty(lanenorm.NewPenalty(lanenorm.PenaltyKindAbs, 0).WithEvery(0))
	untyped := defaults.WithExpects(dtype.Invalid)
	twice := defaults.WithMode(normmode.L1).WithPenalty(lanenorm.NewPenalty(lanenorm.PenaltyKindAbs, 1))
	axis := defaults.WithDim(2)
	for _, c := range []struct {
		attrs lanenorm.Attrs
		want  string
	}{
		{lanenorm.Attrs{Dim: -1}, "operator example.com/lanes.lane_norm: want attributes made by Defaults, got a literal"},
		{literal, "operator example.com/lanes.lane_norm: attribute origin: want a value made by NewOrigin, got a literal"},
		{shifted, "operator example.com/lanes.lane_norm: bias is passed exactly if mode == 'SHIFTED'"},
		{fast, "operator example.com/lanes.lane_norm: attribute modes: want one of FAST, EXACT, got 7"},
		{marked, "operator example.com/lanes.lane_norm: attribute marks: want at most 9, got 10"},
		{level, "operator example.com/lanes.lane_norm: attribute origin.level: want at most 3, got 4"},
		{every, "operator example.com/lanes.lane_norm: attribute penalty.every: want at least 1, got 0"},
		{untyped, "operator example.com/lanes.lane_norm: attribute expects: want an element type, got none"},
		{twice, "operator example.com/lanes.lane_norm: 100% of 3 elements are penalized twice, by L1 and by {ABS 1 none}"},
		{axis, "operator example.com/lanes.lane_norm, slot input: want attribute dim between -2 and 1 for [2, 3], got 2"},
	} {
		g := graph.New(1)
		x := g.Input("x", dtype.F64, 2, 3)
		lanenorm.Apply(g, c.attrs, lanenorm.Input(x), lanenorm.Bias{}, graph.Named("norm"))
		err := g.Err()
		if err == nil {
			t.Errorf("no error, want %s", c.want)
			continue
		}
		if _, got, ok := strings.Cut(err.Error(), "node norm: "); !ok || got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
