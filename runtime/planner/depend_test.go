package planner_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
)

// two returns a program of two layers, side by side on one input, and the second layer's node.
func two(t *testing.T, change func(first, second *graph.Node)) (*graph.Program, error) {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	at := linear.Defaults(4)
	a := linear.Apply(g, at, x, graph.Named("a"))
	b := softmax.Apply(g, softmax.Defaults(), linear.Apply(g, at, x, graph.Named("b")))
	change(a.Node(), b.Node())
	return graph.Inference(g, a, b)
}

// TestExplicitDependencies makes independent nodes depend on each other.
func TestExplicitDependencies(t *testing.T) {
	ordered := func(p *plan.Plan, first, second string) bool {
		last, begin := -1, -1
		for i := range p.Tasks {
			switch p.Label(i) {
			case first:
				last = i
			case second:
				begin = i
			}
		}
		return slices.Contains(p.Tasks[begin].After, last) && slices.Contains(p.Deps.Preds(begin), int32(last))
	}
	const a, b = "a: linear.forward", "softmax: softmax.forward"
	for name, tt := range map[string]struct {
		change       func(first, second *graph.Node)
		forth, again bool
	}{
		"none":           {func(_, _ *graph.Node) {}, false, false},
		"forward":        {func(first, second *graph.Node) { second.After(first) }, true, false},
		"to later nodes": {func(first, second *graph.Node) { first.After(second) }, false, true},
	} {
		program, err := two(t, tt.change)
		if err != nil {
			t.Fatal(err)
		}
		p := build(t, program)
		if forth, again := ordered(p, a, b), ordered(p, b, a); forth != tt.forth || again != tt.again {
			t.Errorf("%s: %v, %v", name, forth, again)
		}
		for workers := range 4 {
			q, err := planner.Reschedule(p, planner.Workers(workers+1))
			if err != nil {
				t.Fatal(err)
			}
			if err := verify.Plan(q); err != nil {
				t.Errorf("%s, %d workers: %v", name, workers+1, err)
			}
		}
	}
	_, err := two(t, func(first, second *graph.Node) { first.After(second); second.After(first) })
	if want := "graph: want nodes without a cycle, got a (operator linear), softmax (operator softmax), a, each of which must run after the next"; err == nil || err.Error() != want {
		t.Errorf("a cycle: got %v\nwant %s", err, want)
	}
	other := graph.New(1)
	y := softmax.Apply(other, softmax.Defaults(), other.Input("y", dtype.F32, 2, 2), graph.Named("far"))
	_, err = two(t, func(first, _ *graph.Node) { first.After(y.Node()) })
	if want := "graph: node a: want nodes of its graph to run after, got far of another"; err == nil || err.Error() != want {
		t.Errorf("another graph: got %v\nwant %s", err, want)
	}
}

// TestProducers breaks programs so that tasks read what nothing has written.
func TestProducers(t *testing.T) {
	keep := func(_, _ *graph.Node) {}
	for name, tt := range map[string]struct {
		change func(*graph.Program)
		want   string
	}{
		"missing producer": {func(p *graph.Program) { p.Steps = slices.Delete(p.Steps, 1, 2) }, "plan inference, softmax: softmax.forward, slot input: want elements that an earlier task has written, got some that none has: b.output[0:2, 0:4]"},
		"wrong order":      {func(p *graph.Program) { p.Steps[1], p.Steps[2] = p.Steps[2], p.Steps[1] }, "plan inference, softmax: softmax.forward, slot input: want elements that an earlier task has written, got some that none has: b.output[0:2, 0:4]"},
		"nothing to fetch": {func(p *graph.Program) { p.Steps = p.Steps[1:] }, "plan inference: want tasks that write all of a fetched tensor, got none for some elements: a.output[0:2, 0:4]"},
		"sum of an unknown tensor": {func(p *graph.Program) {
			p.Steps = append([]graph.Step{{Add: &graph.Add{To: p.Fetched[0], From: p.Fetched[1]}}}, p.Steps...)
		}, "plan inference, add a.output: want elements that an earlier task has written, got some that none has: a.output[0:2, 0:4]"},
	} {
		program, err := two(t, keep)
		if err != nil {
			t.Fatal(err)
		}
		tt.change(program)
		_, err = planner.Build(program)
		var pe *plan.Error
		if !errors.As(err, &pe) || err.Error() != tt.want {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
		if pe != nil && pe.Slot != "" && (pe.Operator != "softmax" || pe.Root != "b.output" || pe.Range != "[0:2, 0:4]") {
			t.Errorf("%s: %+v", name, pe)
		}
	}
}

// TestPartlyWritten reads a tensor of which tasks write parts only.
func TestPartlyWritten(t *testing.T) {
	at := func(p perm.Perm, lo0, hi0, lo1, hi1 int) plan.Task {
		return plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "touch"}, Over: 1, Grain: 1, Access: []region.Access{
			{Region: region.Region{Box: region.Box{Lo: []int{lo0, lo1}, Hi: []int{hi0, hi1}}}, Perm: p}}}
	}
	for name, tt := range map[string]struct {
		tasks []plan.Task
		want  string
	}{
		"all parts": {[]plan.Task{at(perm.Write, 0, 2, 0, 4), at(perm.Write, 2, 4, 0, 2), at(perm.Write, 2, 4, 2, 4), at(perm.Read, 0, 4, 0, 4)}, ""},
		"a hole":    {[]plan.Task{at(perm.Write, 0, 2, 0, 4), at(perm.Write, 2, 4, 0, 2), at(perm.Write, 3, 4, 2, 4), at(perm.Read, 1, 4, 1, 4)}, "plan parts, touch r: want elements that an earlier task has written, got some that none has: r[2:3, 2:4]"},
		"beside it": {[]plan.Task{at(perm.Write, 0, 2, 0, 4), at(perm.ReadWrite, 0, 1, 3, 4), at(perm.Read, 0, 2, 1, 4)}, ""},
		"too far":   {[]plan.Task{at(perm.Write, 0, 2, 0, 4), at(perm.ReadWrite, 1, 3, 0, 1)}, "plan parts, touch r: want elements that an earlier task has written, got some that none has: r[2:3, 0:1]"},
		"scratch":   {[]plan.Task{at(perm.Write, 0, 4, 0, 4), at(perm.Scratch, 1, 2, 1, 2), at(perm.Read, 0, 4, 0, 4)}, "plan parts, touch r: want elements that an earlier task has written, got some that none has: r[1:2, 1:2]"},
		"outside":   {[]plan.Task{at(perm.Write, 0, 5, 0, 4)}, "plan parts, touch r: want indices of a tensor of shape [4 4], got [0 0] to [5 4]: r"},
	} {
		p := &plan.Plan{Name: "parts", ArenaBytes: 64, Tasks: tt.tasks, Roots: []plan.Root{
			{Name: "r", Type: dtype.F32, Shape: []int{4, 4}, Place: region.Place{Bytes: 64}, Last: len(tt.tasks) - 1}}}
		q, err := planner.Reschedule(p)
		if tt.want == "" && err == nil {
			err = verify.Plan(q)
		}
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}
