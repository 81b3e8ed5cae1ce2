package graph_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/fuse"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// TestValidate gives programs by hand to the planner and to the rewriting of programs. Each has one step that
// is wrong by itself, after a right one.
func TestValidate(t *testing.T) {
	g := graph.New(1)
	x, z := g.Input("x", dtype.F32, 2, 3), g.Input("z", dtype.F32, 3, 2)
	y := unary(g, elementunary.OpTypeRelu, x, graph.Named("y"))
	i := g.Input("i", dtype.I32, 2, 3)
	right, err := y.Node().Invoke()
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(inv *graph.Invocation)) graph.Step {
		inv := *right
		inv.Operands = append([][]graph.Tensor{}, inv.Operands...)
		change(&inv)
		return graph.Step{Phase: graph.Forward, Invocation: &inv}
	}
	var none graph.Tensor
	tests := map[string]struct {
		step graph.Step
		want string
	}{
		"nothing":               {graph.Step{}, "want one operation, got none"},
		"two operations":        {graph.Step{Invocation: right, Fill: &graph.Fill{Tensor: x}}, "want one operation, got an invocation and a fill"},
		"three operations":      {graph.Step{Fill: &graph.Fill{Tensor: x}, Add: &graph.Add{To: x, From: x}, Copy: &graph.Copy{To: x, From: x}}, "want one operation, got a fill and an add and a copy"},
		"reduce and fill":       {graph.Step{Fill: &graph.Fill{Tensor: x}, AllReduce: &graph.AllReduce{Tensors: []graph.Tensor{x}}}, "want one operation, got a fill and an all_reduce"},
		"no such phase":         {graph.Step{Phase: 9, Invocation: right}, "want a phase from initialize to update, got number 9"},
		"fill of nothing":       {graph.Step{Fill: &graph.Fill{}}, "want a tensor to fill, got none"},
		"add of nothing":        {graph.Step{Add: &graph.Add{To: x}}, "want tensors for add, got no tensor"},
		"copy of other shapes":  {graph.Step{Copy: &graph.Copy{To: x, From: z}}, "want tensors of one type and shape for copy, got x f32[2, 3] and z f32[3, 2]"},
		"add of other types":    {graph.Step{Add: &graph.Add{To: x, From: i}}, "want tensors of one type and shape for add, got x f32[2, 3] and i i32[2, 3]"},
		"reduction of none":     {graph.Step{AllReduce: &graph.AllReduce{}}, "want tensors for all_reduce, got none"},
		"reduction of one none": {graph.Step{AllReduce: &graph.AllReduce{Tensors: []graph.Tensor{x, none}}}, "want tensors for all_reduce, got no tensor"},
		"an empty invocation":   {graph.Step{Invocation: &graph.Invocation{}}, "want an invocation of a node of a graph, got one of none"},
		"no task":               {with(func(inv *graph.Invocation) { inv.Signature = nil }), "node y: operator element_unary: want a task of the operator, got none"},
		"task of another operator": {with(func(inv *graph.Invocation) { inv.Signature = softmax.Operator.Signature(task.KindForward) }),
			"node y: operator element_unary: want a task of the operator, got another: forward"},
		"no operands":      {with(func(inv *graph.Invocation) { inv.Operands = nil }), "node y: operator element_unary, task forward: want tensors for 2 parameters, got 0"},
		"no input":         {with(func(inv *graph.Invocation) { inv.Operands[0] = nil }), "node y: operator element_unary, task forward, slot input: want a tensor, got no tensor"},
		"an invalid input": {with(func(inv *graph.Invocation) { inv.Operands[0] = []graph.Tensor{none} }), "node y: operator element_unary, task forward, slot input: want f32[2, 3], got no tensor"},
		"another shape":    {with(func(inv *graph.Invocation) { inv.Operands[0] = []graph.Tensor{z} }), "node y: operator element_unary, task forward, slot input: want f32[2, 3], got z f32[3, 2]"},
		"two inputs":       {with(func(inv *graph.Invocation) { inv.Operands[0] = []graph.Tensor{x, x} }), "node y: operator element_unary, task forward, slot input: want a tensor, got 2 tensors"},
	}
	for name, tt := range tests {
		p := &graph.Program{Name: "hand", Fed: []graph.Tensor{x, z, i}, Fetched: []graph.Tensor{y}, Steps: []graph.Step{{Phase: graph.Forward, Invocation: right}, tt.step}}
		_, err := planner.Build(p)
		if want := "planner: program hand, step 1: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", name, err, want)
		}
		_, _, err = fuse.Program(p)
		if want := "fuse: program hand, step 1: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", name, err, want)
		}
	}
	for what, p := range map[string]*graph.Program{
		"fed": {Fed: []graph.Tensor{none}}, "fetched": {Fetched: []graph.Tensor{none}}, "variables": {Variables: []graph.Tensor{none}},
	} {
		if _, err := planner.Build(p); err == nil || !strings.HasSuffix(err.Error(), "want tensors that are "+what+", got no tensor") {
			t.Errorf("%s: %v", what, err)
		}
	}
	p := &graph.Program{Name: "hand", Fed: []graph.Tensor{x}, Fetched: []graph.Tensor{y}, Steps: []graph.Step{{Phase: graph.Forward, Invocation: right}}}
	if _, err := planner.Build(p); err != nil {
		t.Error(err)
	}
}
