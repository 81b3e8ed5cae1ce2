package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// elementwiseStep returns a training step with functions that work element by element between two
// matrix products.
func elementwiseStep(t testing.TB, batch, width int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := linear.Apply(g, linear.Defaults(width), g.Input("x", dtype.F32, batch, width), graph.Named("a"))
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeSin), x, graph.Named("sin"))
	y = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwMul), elementbinary.LhsInput(y), elementbinary.RhsInput(x), graph.Named("mul"))
	at := dropout.Defaults(0.5)
	y = dropout.Apply(g, at, y, graph.Named("drop"))
	y = linear.Apply(g, linear.Defaults(3), y, graph.Named("b"))
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(y), scce.Label(g.Input("label", dtype.I32, batch, 1)))
	p, err := graph.Training(g, loss, adam.Optimizer(adam.Defaults()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRangesOfGroups checks how elementwise tasks are cut: alone as all tasks, in chains into ranges that
// stay in the nearest cache, and in batches into few ranges of many tasks.
func TestRangesOfGroups(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		batch, width int
		plain        bool
		want         string
	}{
		{256, 300, false, "chain 4096, chain 4096, batch 5701"},
		{256, 300, true, "element_unary 8534, element_binary 5486, dropout 5486, dropout 5486, element_binary 5486, element_unary 8534, adam 5625, adam 300, adam 900, adam 3"},
		{2, 30, false, "chain 60, chain 60, batch 4096"},
	} {
		var opts []planner.Option
		if x.plain {
			opts = append(opts, planner.Plain())
		}
		p := build(t, elementwiseStep(t, x.batch, x.width), opts...)
		var got []string
		for i := range p.Tasks {
			switch c := p.Tasks[i].Call; {
			case p.Tasks[i].Group != nil:
				got = append(got, fmt.Sprintf("%s %d", p.Tasks[i].Group.Form, p.Tasks[i].Grain))
			case c >= 0 && p.Tasks[i].Elementwise:
				got = append(got, fmt.Sprintf("%s %d", p.Calls[c].Operator, p.Tasks[i].Grain))
			}
		}
		if all := strings.Join(got, ", "); all != x.want {
			t.Errorf("%d x %d, plain %v: want %s, got %s", x.batch, x.width, x.plain, x.want, all)
		}
	}
}

// TestGroups checks which tasks of a training step are fused.
func TestGroups(t *testing.T) {
	t.Parallel()
	p := build(t, elementwiseStep(t, 2, 3))
	var got []string
	for i := range p.Tasks {
		if g := p.Tasks[i].Group; g != nil {
			got = append(got, fmt.Sprintf("%s %s, %d by %d", g.Form, p.Label(i), p.Tasks[i].Over, p.Tasks[i].Grain))
		}
	}
	want := []string{
		"chain sin, mul, drop: element_unary.forward + element_binary.forward + dropout.forward, 6 by 6",
		"chain drop, mul, sin: dropout.backward + element_binary.backward + element_unary.backward, 6 by 6",
		"batch a.weight.adam, 3 others: adam.update, 24 by 4096",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	plain := build(t, elementwiseStep(t, 2, 3), planner.Plain())
	if slices.ContainsFunc(plain.Tasks, func(t plan.Task) bool { return t.Group != nil }) {
		t.Error("a plain plan has groups")
	}
}

// TestCheckGroups spoils groups. The verifier refuses each.
func TestCheckGroups(t *testing.T) {
	t.Parallel()
	program := elementwiseStep(t, 2, 3)
	find := func(p *plan.Plan, f plan.Form) *plan.Task {
		return &p.Tasks[slices.IndexFunc(p.Tasks, func(t plan.Task) bool { return t.Group != nil && t.Group.Form == f })]
	}
	for _, c := range []struct {
		name  string
		spoil func(chain, batch *plan.Task)
		want  string
	}{
		{"form", func(c, _ *plan.Task) { c.Group.Form = "ring" }, `want a chain or a batch of tasks, got "ring" of 3`},
		{"empty", func(c, _ *plan.Task) { c.Group.Parts = nil }, `want a chain or a batch of tasks, got "chain" of 0`},
		{"indices of a chain", func(c, _ *plan.Task) { c.Group.Parts[1].Over-- }, "want parts that run over 6 indices, got 5 in part 1"},
		{"indices of a batch", func(_, b *plan.Task) { b.Over++ }, "want parts that have"},
		{"a missing part", func(_, b *plan.Task) { b.Group.Parts = b.Group.Parts[1:] }, "want parts that have"},
		{"a missing part of a chain", func(c, _ *plan.Task) { c.Group.Parts = c.Group.Parts[1:] }, "want the accesses that its parts have together"},
		{"a missing access", func(c, _ *plan.Task) { c.Access = c.Access[1:] }, "want the accesses that its parts have together"},
		{"a weaker access", func(_, b *plan.Task) { b.Access[0].Perm = perm.Read }, "want the accesses that its parts have together"},
		{"no elements", func(c, _ *plan.Task) { c.Group.Parts[0].Elementwise = false }, "want elementwise parts, got part 0"},
		{"scratch", func(c, _ *plan.Task) { c.Group.Parts[0].Access[0].Perm = perm.Scratch }, "want parts that read and write whole tensors, got part 0: a.output"},
		{"another call", func(c, _ *plan.Task) { c.Group.Parts[0].Call = 1000 }, "want calls and built-in operations as parts"},
		{"a root that there is not", func(c, _ *plan.Task) { c.Group.Parts[0].Access[0].Root = -1 }, "want roots from 0 to"},
		{"parts of a batch that meet", func(_, b *plan.Task) { b.Group.Parts[1].Access[0] = b.Group.Parts[0].Access[0] }, "want parts that share only elements of their indices, got parts 0 and 1: a.weight"},
		{"a chain as a batch", func(c, _ *plan.Task) { c.Group.Form = plan.Batch }, "want parts that share only elements of their indices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data, err := build(t, program).Encode()
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := verify.Plan(p); err != nil {
				t.Fatal(err)
			}
			c.spoil(find(p, plan.Chain), find(p, plan.Batch))
			if err := verify.Plan(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
