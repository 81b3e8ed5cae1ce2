package graph_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// eight returns an invocation of linear's backward with eight tensors, made by generated code.
func eight(tb testing.TB, rows int) *graph.OpenInvocation {
	tb.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, rows, 16)
	a := linear.Defaults(8)
	a.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.5))
	y := linear.Apply(g, a, x)
	if err := g.Err(); err != nil {
		tb.Fatal(err)
	}
	n := y.Node()
	w, b := n.Tensor(int(linear.SlotWeight)), n.Tensor(int(linear.SlotBias))
	r := n.Tensor(int(linear.SlotRegularization))
	inv, err := linear.BackwardTensors{Input: x, Weight: w, Output: y,
		GradInput: graph.Gradient(g.Input("gx", dtype.F32, rows, 16)), GradWeight: graph.Gradient(g.Input("gw", dtype.F32, 8, 16)),
		GradBias: graph.Gradient(b), GradOutput: graph.Gradient(g.Input("gy", dtype.F32, rows, 8)), GradRegularization: graph.Gradient(r),
	}.Invoke(n)
	if err != nil {
		tb.Fatal(err)
	}
	return inv
}

var machine = partition.Machine{Kind: "gpu", Procs: 4, Threshold: 1}

// TestCheckedLaunch launches what generated code has bound: the partition is computed once, and then
// found without allocating.
func TestCheckedLaunch(t *testing.T) {
	inv := eight(t, 64)
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	c := partition.NewChecker(inv.Signature.Declaration(), machine)
	first, err := c.Launch(l)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Domain, []int{4}) && first.Leaves() < 2 {
		t.Errorf("the launch is not divided: %v", first.Domain)
	}
	var again *partition.Strategy
	if n := testing.AllocsPerRun(100, func() { again, err = c.Launch(l) }); n != 0 || again != first || err != nil {
		t.Errorf("a launch like the last one allocates %v times, and gives %p, %v; want %p", n, again, err, first)
	}
	// Other tensors of the same shapes are divided alike, those of others are not.
	same, err := eight(t, 64).Launch()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.Launch(same); p != first || err != nil {
		t.Errorf("a launch of the same shapes gives %p, %v; want %p", p, err, first)
	}
	larger, err := eight(t, 65).Launch()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.Launch(larger); p == first || err != nil {
		t.Errorf("a launch of other shapes gives the same partition, %v", err)
	}
	if p, err := c.Launch(l); p != first || err != nil {
		t.Errorf("the first launch gives %p, %v; want %p", p, err, first)
	}
}

// TestAddConstraint adds constraints to an invocation of a task that declares none.
func TestAddConstraint(t *testing.T) {
	inv := eight(t, 64)
	if err := inv.AddConstraint(partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("inputs")}}); err != nil {
		t.Fatal(err)
	}
	var e *op.Error
	if err := inv.AddConstraint(partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.At("grad.input", 1)}}); !errors.As(err, &e) || e.Code != partition.IndexOutOfRange {
		t.Errorf("got %v, want an error of the code %s", err, partition.IndexOutOfRange)
	}
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	p, err := partition.NewChecker(inv.Signature.Declaration(), machine).Launch(l)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if d := p.Argument(i); !d.Whole() {
			t.Errorf("input %d, %s, is divided as %v in spite of the constraint", i, d.Store.Name, d.Partition)
		}
	}
}

// BenchmarkCheckedLaunch measures what it costs to check a launch of eight tensors and to find how it is
// divided.
func BenchmarkCheckedLaunch(b *testing.B) {
	inv := eight(b, 64)
	d := inv.Signature.Declaration()
	l, err := inv.Launch()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("generated", func(b *testing.B) {
		c := partition.NewChecker(d, machine)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Launch(l); err != nil {
				b.Fatal(err)
			}
		}
	})
	dynamic := func(b *testing.B, finish func(*partition.Launch) error) {
		p, err := l.Solve(machine)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			l := partition.New(d)
			k := 0
			for _, g := range []partition.Group{partition.Inputs, partition.Outputs} {
				for _, s := range d.Slots() {
					if s.Group == g && s.Name != "pre" {
						if err := l.Add(s.Name, p.Argument(k).Store); err != nil {
							b.Fatal(err)
						}
						k++
					}
				}
			}
			if err := finish(l); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("dynamic", func(b *testing.B) {
		c := partition.NewChecker(d, machine)
		dynamic(b, func(l *partition.Launch) error { _, err := c.Launch(l); return err })
	})
	b.Run("solved", func(b *testing.B) {
		dynamic(b, func(l *partition.Launch) error { _, err := l.Solve(machine); return err })
	})
}

// partitions launches the first task of a node on four processors.
func partitions(t *testing.T, n *graph.Node) []string {
	t.Helper()
	inv, err := n.Invoke()
	if err != nil {
		t.Fatal(err)
	}
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Solve(machine)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range s.Stores {
		out = append(out, p.Store.Name+" "+p.Partition.String())
	}
	return out
}

// TestLaunchFollowsSharding partitions operators that declare no constraints along the dimensions that may be
// divided: softmax is whole along the dimension that it sums over, and the tiles of linear fit each other.
func TestLaunchFollowsSharding(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 64, 64)
	for _, tt := range []struct {
		y    graph.Tensor
		want []string
	}{
		{softmax.Apply(g, along(1), x), []string{"x [64/4, 64]", "softmax.output [64/4, 64]"}},
		{softmax.Apply(g, along(0), x), []string{"x [64, 64/4]", "softmax_1.output [64, 64/4]"}},
		{linear.Apply(g, noBias(64), x), []string{"x [64/2, 64] x2 replicas", "linear.weight [64/2, 64] x2 replicas", "linear.output [64/2, 64/2]"}},
		{linear.Apply(g, noBias(1), g.Input("row", dtype.F32, 1, 64)), []string{"row [1, 64/4]", "linear_1.weight [1, 64/4]", "linear_1.output [1, 1] x4 sums"}},
	} {
		if got := partitions(t, tt.y.Node()); !slices.Equal(got, tt.want) {
			t.Errorf("got %v\nwant %v", got, tt.want)
		}
	}
}

// TestLeavesOfLinear checks which part of each tensor a leaf has: the parts of a leaf fit each other.
func TestLeavesOfLinear(t *testing.T) {
	g := graph.New(1)
	inv, err := linear.Apply(g, noBias(64), g.Input("x", dtype.F32, 64, 64)).Node().Invoke()
	if err != nil {
		t.Fatal(err)
	}
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Solve(machine)
	if err != nil {
		t.Fatal(err)
	}
	box := func(arg, leaf int) string {
		p := s.Argument(arg)
		return p.Part(0, p.PartOf[leaf]).Box.String()
	}
	for leaf := range s.Leaves() {
		rows, columns := []string{"0:32", "32:64"}[leaf/2], []string{"0:32", "32:64"}[leaf%2]
		want := []string{"[" + rows + ", 0:64]", "[" + columns + ", 0:64]", "[" + rows + ", " + columns + "]"}
		if got := []string{box(0, leaf), box(1, leaf), box(2, leaf)}; !slices.Equal(got, want) {
			t.Errorf("leaf %d has %v, want %v", leaf, got, want)
		}
	}
}

// TestConstraintsRestrictSharding adds constraints to a task that may be divided along its rows and columns.
func TestConstraintsRestrictSharding(t *testing.T) {
	for _, tt := range []struct {
		c    partition.Constraint
		want string
	}{
		{partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("input")}, Axes: []int{0}}, "linear.output [64, 64/4]"},
		{partition.Constraint{Kind: partition.MinExtents, Terms: []partition.Term{partition.Whole("output")}, Extents: []int{33, 32}}, "linear.output [64, 64/2]"},
		{partition.Constraint{Kind: partition.Align, Terms: []partition.Term{partition.Whole("input"), partition.Whole("output")}}, "linear.output [64/4, 64]"},
	} {
		g := graph.New(1)
		y := linear.Apply(g, noBias(64), g.Input("x", dtype.F32, 64, 64), graph.Constrain(task.KindForward, tt.c))
		if got := partitions(t, y.Node()); got[2] != tt.want {
			t.Errorf("%v: got %v, want %s", tt.c, got, tt.want)
		}
	}
}

// noBias returns the attributes of a linear layer without a bias.
func noBias(channels int) linear.Attrs {
	a := linear.Defaults(channels)
	a.UseBias = false
	return a
}

// along returns the attributes of a softmax along a dimension.
func along(dim int) softmax.Attrs {
	a := softmax.Defaults()
	a.Dim = dim
	return a
}

// TestLimitsAlike finds the limits of launches that are alike once, and those of others by themselves.
func TestLimitsAlike(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x, y := g.Input("x", dtype.F32, 4), g.Input("y", dtype.F32, 5)
	limits := func(x graph.Tensor) *partition.Limits {
		inv, err := reverse.Apply(g, reverse.Defaults(0), x).Node().Invoke()
		if err != nil {
			t.Fatal(err)
		}
		l, err := inv.Limits()
		if err != nil || l == nil {
			t.Fatal(l, err)
		}
		return l
	}
	if limits(x) != limits(x) || limits(x) == limits(y) {
		t.Error("want one value for launches that are alike, and another for others")
	}
}
