package planner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/stencil"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

func on(kind partition.Kind, names ...string) partition.Constraint {
	c := partition.Constraint{Kind: kind}
	for _, n := range names {
		c.Terms = append(c.Terms, partition.Whole(n))
	}
	return c
}

// leastOf is a constraint on the tiles of a slot.
func leastOf(slot string, extents ...int) partition.Constraint {
	c := on(partition.MinExtents, slot)
	c.Extents = extents
	return c
}

// TestBrokenConstraint adds a constraint that the tensors of a call break: the program is refused before it
// runs.
func TestBrokenConstraint(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x, y := g.Input("x", dtype.F32, 4, 1), g.Input("y", dtype.F32, 7)
	z := elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(y),
		graph.Named("plus"), graph.Constrain(task.KindForward, on(partition.Align, "lhs_input", "rhs_input")))
	_, err := graph.Inference(g, z)
	var e *op.Error
	if !errors.As(err, &e) || e.Code != partition.AlignShape || e.Operator != "element_binary" || e.Task != "forward" || e.Slot != "lhs_input and rhs_input" {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"node plus", "align(lhs_input, rhs_input)", "ranks 2 and 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
}

// TestBrokenByHand changes the constraints of an invocation after it was checked.
func TestBrokenByHand(t *testing.T) {
	t.Parallel()
	prog := softmaxProgram(t, 8, 4)
	prog.Steps[0].Invocation.Added = []partition.Constraint{leastOf("input", 1, 2, 3)}
	if _, err := planner.Build(prog); err == nil || !strings.Contains(err.Error(), "node softmax") || !strings.Contains(err.Error(), "length") && !strings.Contains(err.Error(), "one for each axis") {
		t.Errorf("got %v", err)
	}
}

// TestBadConstrain refuses constraints that no launch of the task can have, where the node is inserted.
func TestBadConstrain(t *testing.T) {
	t.Parallel()
	for _, c := range []partition.Constraint{on(partition.Align, "inpt"), leastOf("input", -1), {Kind: partition.Broadcast}} {
		g := graph.New(1)
		softmax.Apply(g, softmax.Defaults().WithDim(1), g.Input("x", dtype.F32, 2, 3), graph.Constrain(task.KindForward, c))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), "operator softmax, task forward") {
			t.Errorf("%v: got %v", c, err)
		}
	}
	g := graph.New(1)
	softmax.Apply(g, softmax.Defaults().WithDim(1), g.Input("x", dtype.F32, 2, 3), graph.Constrain(task.KindUpdate, on(partition.Broadcast, "input")))
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "one on update") {
		t.Errorf("got %v", err)
	}
}

func softmaxProgram(t *testing.T, rows, columns int, opts ...graph.Option) *graph.Program {
	t.Helper()
	g := graph.New(1)
	y := softmax.Apply(g, softmax.Defaults().WithDim(1), g.Input("x", dtype.F32, rows, columns), opts...)
	prog, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

func forward(t *testing.T, p *plan.Plan) *plan.Task {
	t.Helper()
	i := slices.IndexFunc(p.Tasks, func(x plan.Task) bool { return x.Call >= 0 })
	if i < 0 {
		t.Fatal("there is no task")
	}
	return &p.Tasks[i]
}

// TestMinExtents cuts a task into ranges that are no smaller than a constraint says, the last one too.
func TestMinExtents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rows, least, want int }{{64, 1, 4}, {64, 16, 16}, {65, 16, 22}, {20, 16, 20}, {64, 100, 64}} {
		prog := softmaxProgram(t, tt.rows, 8192, graph.Constrain(task.KindForward, leastOf("input", tt.least, 3)))
		p, err := planner.Build(prog)
		if err != nil {
			t.Fatal(err)
		}
		if got := forward(t, p); got.Grain != tt.want && tt.least > 1 {
			t.Errorf("%d rows in tiles of %d or more: got ranges of %d, want %d", tt.rows, tt.least, got.Grain, tt.want)
		}
	}
}

// TestBroadcastOfRanges keeps axes whole that a constraint names: in ranges of a task whose indices stand for
// elements, and not in those of loops, whose indices stand for shares.
func TestBroadcastOfRanges(t *testing.T) {
	t.Parallel()
	const rows, columns = 512, 1024
	whole := func(slot string, axes ...int) partition.Constraint {
		c := on(partition.Broadcast, slot)
		c.Axes = axes
		return c
	}
	added := func(g *graph.Graph, c ...partition.Constraint) graph.Tensor {
		var opts []graph.Option
		for _, c := range c {
			opts = append(opts, graph.Constrain(task.KindForward, c))
		}
		opts = append(opts, graph.Named("sum"))
		return elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(g.Input("x", dtype.F32, rows, columns)),
			elementbinary.RhsInput(g.Input("y", dtype.F32, rows, columns)), opts...)
	}
	for _, tt := range []struct {
		constraints []partition.Constraint
		multiple    int // of the extents of ranges
		ranges      bool
	}{
		{nil, 1, true},
		{[]partition.Constraint{whole("output", 1)}, columns, true},
		{[]partition.Constraint{whole("output", 0)}, rows * columns, false},
		{[]partition.Constraint{whole("lhs_input")}, rows * columns, false},
		{[]partition.Constraint{whole("lhs_input", 1), leastOf("rhs_input", 100, 1)}, 100 * columns, true},
	} {
		g := graph.New(1)
		prog, err := graph.Inference(g, added(g, tt.constraints...))
		if err != nil {
			t.Fatal(err)
		}
		for _, opts := range [][]planner.Option{{}, {planner.Tiled()}} {
			p, err := planner.Build(prog, opts...)
			if err != nil {
				t.Fatal(err)
			}
			x := forward(t, p)
			n := x.Grain
			if len(x.Inner) > 0 {
				n *= x.Inner[0].Grain
			} else if x.Over == rows {
				n *= columns
			}
			if got := x.Ranges(); (got > 1 || len(p.Tasks) > 1) != tt.ranges || n < tt.multiple || n%columns != 0 && tt.multiple > 1 {
				t.Errorf("%v: got %d tasks of %d ranges of %v", tt.constraints, len(p.Tasks), got, x.Grid())
			}
			if err := errors.Join(verify.Plan(p), validate.Plan(p, prog)); err != nil {
				t.Error(err)
			}
		}
	}
	g := graph.New(1)
	prog, err := graph.Inference(g, reverse.Apply(g, reverse.Defaults(0), g.Input("x", dtype.F32, rows, columns))) // its spec keeps the axis whole
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(prog)
	if err != nil {
		t.Fatal(err)
	}
	if got := forward(t, p); got.Ranges() < 2 {
		t.Errorf("loops that reverse rows: got %d shares", got.Ranges())
	}
}

// TestMinExtentsOfWindows makes tiles of pooled rows that touch enough rows of the images.
func TestMinExtentsOfWindows(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	a := pool2d.Defaults(2, 2)
	a.StrideH, a.StrideW = 2, 2
	y := pool2d.Apply(g, a, g.Input("x", dtype.F32, 2, 3, 32, 8),
		graph.Constrain(task.KindForward, leastOf("input", 1, 1, 14, 1)), graph.Constrain(task.KindForward, on(partition.Broadcast, "output")))
	prog, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range [][]planner.Option{{}, {planner.Tiled()}} {
		p, err := planner.Build(prog, opts...)
		if err != nil {
			t.Fatal(err)
		}
		// Everything of the output is whole, so there is one tile.
		if got := forward(t, p); got.Ranges() != 1 || len(p.Tasks) != 1 {
			t.Errorf("got %d tasks of %d ranges", len(p.Tasks), got.Ranges())
		}
	}

	g = graph.New(1)
	y = pool2d.Apply(g, a, g.Input("x", dtype.F32, 2, 3, 32, 8), graph.Constrain(task.KindForward, leastOf("input", 1, 1, 14, 1)))
	if prog, err = graph.Inference(g, y); err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(prog, planner.Tiled())
	if err != nil {
		t.Fatal(err)
	}
	if got := forward(t, p); len(p.Tasks) != 2*3*2 || got.Inner[1].Grain != 8 {
		t.Errorf("got %d tasks, %v", len(p.Tasks), got.Grid())
	}
}

// TestMinExtentsOfViews constrains views, whose roots have more or fewer axes: the task is not cut.
func TestMinExtentsOfViews(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ root, view, least []int }{{[]int{8, 8, 3}, []int{64, 3}, []int{16, 3}}, {[]int{64, 3}, []int{8, 8, 3}, []int{4, 1, 3}}} {
		g := graph.New(1)
		attrs := reshape.Defaults(attr.ListOf(tt.view...))
		root := softmax.Apply(g, softmax.Defaults(), g.Input("x", dtype.F32, tt.root...))
		y := softmax.Apply(g, softmax.Defaults(), reshape.Apply(g, attrs, root), graph.Constrain(task.KindForward, leastOf("input", tt.least...)))
		prog, err := graph.Inference(g, y)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planner.Build(prog)
		if err != nil {
			t.Fatal(err)
		}
		last := &p.Tasks[len(p.Tasks)-1]
		if last.Ranges() != 1 || !slices.ContainsFunc(last.Access, func(a region.Access) bool { return slices.Equal(a.Least, tt.root) }) {
			t.Errorf("a view %v of %v: want one range on all of the root, got %d, %v", tt.view, tt.root, last.Ranges(), last.Access)
		}
		if err := errors.Join(verify.Plan(p), validate.Plan(p, prog)); err != nil {
			t.Error(err)
		}
	}
}

// TestConstrainedPlan checks that added constraints are part of the plan, in both forms and in its hash.
func TestConstrainedPlan(t *testing.T) {
	t.Parallel()
	c := leastOf("input", 16, 1)
	plain, err := planner.Build(softmaxProgram(t, 64, 3))
	if err != nil {
		t.Fatal(err)
	}
	prog := softmaxProgram(t, 64, 3, graph.Constrain(task.KindForward, c))
	p, err := planner.Build(prog)
	if err != nil {
		t.Fatal(err)
	}
	a, err := plain.Hash()
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Hash()
	if err != nil || a == b {
		t.Errorf("the hashes are %s and %s, %v", a, b, err)
	}
	for _, encode := range []func() ([]byte, error){p.Encode, p.EncodeBinary} {
		data, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Calls[0].Added) != 1 || !got.Calls[0].Added[0].Equal(c) {
			t.Errorf("got constraints %v, want %v", got.Calls[0].Added, c)
		}
		if err := errors.Join(verify.Plan(got), validate.Plan(got, prog)); err != nil {
			t.Error(err)
		}
		fine := *got
		fine.Tasks = slices.Clone(got.Tasks)
		fine.Tasks[0].Grain = 15
		if err := verify.Plan(&fine); err == nil || !strings.Contains(err.Error(), "too fine") {
			t.Errorf("ranges that are too small: got %v", err)
		}
		fine.Tasks[0].Access = slices.Clone(got.Tasks[0].Access)
		fine.Tasks[0].Access[0].Least = nil
		if err := validate.Plan(&fine, prog); err == nil || !strings.Contains(err.Error(), "as constraints say") {
			t.Errorf("tiles without demands: got %v", err)
		}
		got.Calls[0].Added = nil
		if err := validate.Plan(got, prog); err == nil {
			t.Error("a plan without the constraint is accepted")
		}
	}
}

// TestExtentsOfExpressions refuses a plan whose ranges are smaller than a constraint of the spec says, which
// an attribute gives.
func TestExtentsOfExpressions(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	y := stencil.Apply(g, stencil.Defaults(2), stencil.Input(g.Input("x", dtype.F32, 1, 64, 3)), stencil.Weight(g.Input("w", dtype.F32, 5, 5)))
	prog, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(prog)
	if err != nil {
		t.Fatal(err)
	}
	x := forward(t, p)
	if least := x.Access[len(x.Access)-1].Least; !slices.Equal(least, []int{0, 2, 2}) {
		t.Errorf("got the least extents %v, want [0 2 2]", least)
	}
	x.Grain = 3
	if err := verify.Plan(p); err == nil || !strings.Contains(err.Error(), "too fine") {
		t.Errorf("ranges that are too small: got %v", err)
	}
}

// along returns the attributes of a softmax along a dimension.
func along(dim int) softmax.Attrs {
	a := softmax.Defaults()
	a.Dim = dim
	return a
}
