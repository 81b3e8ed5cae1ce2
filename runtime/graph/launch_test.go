package graph_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
)

// eight returns an invocation of linear's backward with eight tensors, made by generated code.
func eight(tb testing.TB, rows int) *graph.OpenInvocation {
	tb.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, rows, 16)
	a := linear.Defaults(8)
	a.Regularizer = attr.Some(linear.Regularizer{Type: penalty.L2, Lambda: 0.5})
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
