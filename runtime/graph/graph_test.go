package graph_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

func dense(out int) linear.Attrs {
	at := linear.Defaults(out)
	return at
}

func add(g *graph.Graph, x, y graph.Tensor, opts ...graph.Option) graph.Tensor {
	at := elementbinary.Defaults(elementbinary.TypeEwAdd)
	return elementbinary.Apply(g, at, elementbinary.LhsInput(x), elementbinary.RhsInput(y), opts...)
}

// TestMistakes makes many mistakes in one graph. Each is reported once, with the line of the call.
func TestMistakes(t *testing.T) {
	g := graph.New(1)
	foreign := graph.New(1).Input("foreign", dtype.F32, 2, 3)
	x := g.Input("x", dtype.F32, 2, 3)
	label := g.Input("label", dtype.I32, 2, 1)
	var want []string
	// above expects errors of the line above it.
	above := func(texts ...string) {
		_, _, line, _ := runtime.Caller(1)
		for _, text := range texts {
			want = append(want, fmt.Sprintf("graph_test.go:%d: %s", line-1, text))
		}
	}

	bad := g.Input("bad", dtype.F32, 2, -1)
	above("input bad: want extents of 0 or more, got [2, -1]")
	linear.Apply(g, dense(3), bad) // silent: what is wrong has been said
	g.Input("text", dtype.String, 2)
	above("input text: want an element type of fixed size, got string")
	g.Input("huge", dtype.F32, 1<<40, 1<<40)
	above("input huge: want a size that can be addressed, got f32[1099511627776, 1099511627776]")
	y := linear.Apply(g, linear.Defaults(0), x)
	above("node linear: operator linear: attribute out_channels: want at least 1, got 0")
	softmax.Apply(g, softmax.Defaults(), y) // silent
	linear.Apply(g, dense(3), g.Input("scalar", dtype.F32), graph.Named("fc"))
	above("node fc: operator linear, slot input: want at least 1 dimensions [N..., K], got []")
	linear.Apply(g, dense(3), label)
	above("node linear: operator linear, slot input: want element type T in f16, bf16, f32, f64, got i32")
	linear.Apply(g, dense(3), foreign)
	above("node linear: operator linear: want tensors of the node's graph, got foreign f32[2, 3] of another")
	softmax.Apply(g, softmax.Defaults(), x, graph.With(softmax.SlotOutput, x))
	above("node softmax: operator softmax: want an optional input for With, got output")
	dropout.Apply(g, dropout.Defaults(0.5).WithTraining(false), x, graph.With(dropout.SlotMask, x), graph.Named("drop"))
	above("node drop: operator dropout, slot mask: want element type bool, got f32")
	dropout.Apply(g, dropout.Defaults(0.5).WithTraining(false), x, graph.With(dropout.Slot(99), x), graph.Request(dropout.SlotOutput), graph.With(dropout.Slot(-1), x))
	above("node dropout: operator dropout: want an optional input for With, got Slot(-1)",
		"node dropout: operator dropout: want an optional input for With, got Slot(99)",
		"node dropout: operator dropout: want an output that is made on request for Request, got output")
	linear.Apply(g, dense(3), x, graph.With(dropout.SlotMask, x), graph.Weight(softmax.SlotInput, x), graph.Request(dropout.SlotInput), graph.Init(softmax.SlotOutput, nil, nil))
	above("node linear: operator linear: want a slot of this operator for With, got dropout.Slot mask",
		"node linear: operator linear: want a slot of this operator for Init, got softmax.Slot output")
	graph.Insert[int](g, 0, linear.Operator, dense(3)).Bind(99, x).Bind(1, x).Bind(0, x).Node()
	above("node linear: operator linear: want an input, got Slot(99)",
		"node linear: operator linear: want an input, got weight")
	graph.Insert[int](g, 0, linear.Operator, dense(3)).Bind(0, x, x).Node()
	above("node linear: operator linear, slot input: want one tensor, got 2")
	softmax.Apply(g, softmax.Defaults().WithDim(2), x)
	above("node softmax: operator softmax, slot input: want attribute dim between -2 and 1 for [2, 3], got 2")

	got := strings.Split(fmt.Sprint(g.Err()), "\n")
	for i := range max(len(got), len(want)) {
		var a, b string
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			t.Errorf("mistake %d:\n got %s\nwant %s", i, a, b)
		}
	}
	var e *op.Error
	if !errors.As(g.Err(), &e) || e.Operator != "linear" {
		t.Errorf("the errors wrap %v", e)
	}
	if len(g.Nodes()) != 0 {
		t.Errorf("%d nodes were inserted", len(g.Nodes()))
	}
	for name, f := range map[string]func() error{
		"Inference": func() error { _, err := graph.Inference(g, x); return err },
		"Whole":     func() error { _, err := graph.Whole(g); return err },
		"Training":  func() error { _, err := graph.Training(g, x, nil); return err },
		"Gradients": func() error { _, _, err := graph.Gradients(g, nil, nil); return err },
	} {
		if err := f(); err == nil || err.Error() != g.Err().Error() {
			t.Errorf("%s of a wrong graph: %v", name, err)
		}
	}
}

// TestNoTensor passes the zero Tensor, which no earlier mistake explains.
func TestNoTensor(t *testing.T) {
	g := graph.New(1)
	out := linear.Apply(g, dense(3), graph.Tensor{})
	if err := g.Err(); err == nil || !strings.HasSuffix(err.Error(), ": node linear: operator linear: want a tensor, got none") {
		t.Errorf("%v", err)
	}
	if out.Valid() || out.Name() != "" || out.Node() != nil || len(out.Shape()) != 0 || out.Type() != dtype.Invalid || out.String() != "no tensor" || out.Variable() {
		t.Errorf("the result is %v", out)
	}
	g = graph.New(1)
	x := g.Input("x", dtype.F32, 4)
	y := dropout.Apply(g, dropout.Defaults(0.5).WithTraining(false), x, graph.With(dropout.SlotMask, graph.Tensor{}))
	if g.Err() != nil || !y.Valid() || y.Node().Tensor(int(dropout.SlotMask)).Valid() {
		t.Errorf("an optional input that is none: %v, %v", y, g.Err())
	}
}

func TestTensors(t *testing.T) {
	g := graph.New(1)
	dims := []int{2, 3}
	x := g.Input("x", dtype.F32, dims...)
	dims[0] = 9
	if x.String() != "x f32[2, 3]" || x.Name() != "x" || x.Type() != dtype.F32 || x.Node() != nil || x.Variable() {
		t.Errorf("%v", x)
	}
	y := linear.Apply(g, dense(4), x, graph.Named("fc"))
	n := y.Node()
	if y.String() != "fc.output f32[2, 4]" || n.Name != "fc" || len(g.Nodes()) != 1 || g.Nodes()[0] != n {
		t.Errorf("%v", y)
	}
	w := n.Tensor(int(linear.SlotWeight))
	if w.String() != "fc.weight f32[4, 3]" || !w.Variable() || w.Node() != n || n.Tensor(int(linear.SlotInput)) != x {
		t.Errorf("%v", w)
	}
	if n.Tensor(int(linear.SlotRegularization)).Valid() || n.Tensor(int(linear.SlotPre)).Valid() {
		t.Error("an absent slot has a tensor")
	}
	if (*graph.Node)(nil).Tensor(0).Valid() {
		t.Error("no node has a tensor")
	}
}

// TestNames checks that names are unique among inputs, nodes and their tensors.
func TestNames(t *testing.T) {
	g := graph.New(1)
	var names []string
	note := func(t graph.Tensor) graph.Tensor {
		names = append(names, t.Name())
		return t
	}
	x := note(g.Input("x", dtype.F32, 2, 3))
	note(g.Input("fc.output", dtype.F32, 2, 3))
	note(g.Input("linear", dtype.F32, 2, 3))
	y := note(linear.Apply(g, dense(4), x, graph.Named("fc")))
	note(y.Node().Tensor(int(linear.SlotWeight)))
	note(linear.Apply(g, dense(4), x))
	note(linear.Apply(g, dense(4), x))
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	want := "[x fc.output linear fc.output_1 fc.weight linear_1.output linear_2.output]"
	if fmt.Sprint(names) != want {
		t.Errorf("names\n got %v\nwant %s", names, want)
	}
}

// TestBinding checks invocations by slot number.
func TestBinding(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	y := linear.Apply(g, dense(4), x)
	n := y.Node()
	wide := g.Input("wide", dtype.F32, 2, 4)
	const (
		input, weight, bias, output = int(linear.SlotInput), int(linear.SlotWeight), int(linear.SlotBias), int(linear.SlotOutput)
		regularization, pre         = int(linear.SlotRegularization), int(linear.SlotPre)
	)
	forward := func() *graph.Binding[int] {
		return graph.NewBinding[int](n, task.KindForward).Bind(weight, n.Tensor(weight)).Bind(bias, n.Tensor(bias)).Bind(output, y)
	}
	backward := func() *graph.Binding[int] {
		return graph.NewBinding[int](n, task.KindBackward).Bind(input, x).Bind(weight, n.Tensor(weight))
	}
	tests := []struct {
		name    string
		binding *graph.Binding[int]
		want    string
	}{
		{"complete", forward().Bind(input, x), ""},
		{"absent slots bound to none", forward().Bind(input, x).Bind(regularization, graph.Tensor{}).Bind(pre), ""},
		{"missing", forward(), "operator linear, task forward, slot input: want a tensor, got no tensor"},
		{"none", forward().Bind(input, graph.Tensor{}), "operator linear, task forward, slot input: want a tensor, got no tensor"},
		{"wrong shape", forward().Bind(input, wide), "operator linear, task forward, slot input: want f32[2, 3], got wide f32[2, 4]"},
		{"two tensors", forward().Bind(input, x, x), "operator linear, task forward, slot input: want a tensor, got 2 tensors"},
		{"twice", forward().Bind(input, x).Bind(input, x), "operator linear, task forward, slot input: want one binding, got a second one"},
		{"absent slot", forward().Bind(input, x).Bind(pre, wide), "operator linear, task forward, slot pre: want no tensor, got a tensor"},
		{"unused slot", forward().Bind(input, x).Bind(int(linear.SlotGradPre), wide), "operator linear, task forward, slot grad_pre: want a slot that the task uses, got one that it does not"},
		{"no slot", forward().Bind(7, x), "operator linear, task forward: want a slot from 0 to 6, got 7"},
		{"no gradient", forward().BindGrad(input, x), "operator linear, task forward, slot input: want a slot whose gradient that the task uses, got one that it does not"},
		{"no task", graph.NewBinding[int](n, task.KindUpdate), "operator linear: want an operator with a task of kind update, got none"},
		{"no task, but bound", graph.NewBinding[int](n, task.KindUpdate).Bind(input, x), "operator linear: want an operator with a task of kind update, got none"},
		{"unused gradients", backward().BindGrad(output, wide), ""},
		{"gradient of the output", backward(), "operator linear, task backward, slot output: want a tensor, got no tensor"},
		{"gradient of a wrong shape", backward().BindGrad(output, wide).BindGrad(input, wide), "operator linear, task backward, slot input: want f32[2, 3], got wide f32[2, 4]"},
	}
	for _, tt := range tests {
		inv, err := tt.binding.Invocation()
		switch {
		case tt.want == "" && (err != nil || inv.Node != n || len(inv.Operands) != len(inv.Signature.Params)):
			t.Errorf("%s: %v, %v", tt.name, inv, err)
		case tt.want != "" && (err == nil || err.Error() != tt.want):
			t.Errorf("%s: got %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

// TestNamesGivenTwice gives names twice: each is an error at the line of the second one, with the place of
// the first. Names made by default avoid those that were given.
func TestNamesGivenTwice(t *testing.T) {
	g := graph.New(1)
	_, _, line, _ := runtime.Caller(0)
	x := g.Input("x", dtype.F32, 2, 3)
	y := linear.Apply(g, dense(3), x, graph.Named("linear"))
	linear.Apply(g, dense(3), y) // line+3: linear_1
	var want []string
	for _, name := range []string{"linear", "x", "linear_1", "linear.output"} {
		if z := linear.Apply(g, dense(3), y, graph.Named(name)); z.Valid() {
			t.Errorf("got a second node %s", name)
		}
		got := map[string]int{"linear": 2, "x": 1, "linear_1": 3}[name]
		place := "that of a tensor"
		if got > 0 {
			place = fmt.Sprintf("one that graph_test.go:%d gave already", line+got)
		}
		want = append(want, fmt.Sprintf("graph_test.go:%d: node %s: want a name that nothing else in the graph has, got %s", line+6, name, place))
	}
	g.Input("x", dtype.F32)
	want = append(want, fmt.Sprintf("graph_test.go:%d: input x: want a name that nothing else in the graph has, got one that graph_test.go:%d gave already", line+16, line+1))
	if err := g.Err(); err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got %v\nwant %s", err, strings.Join(want, "\n"))
	}
	other := graph.OnDevice(1, 1)
	if other.Input("x", dtype.F32); other.Err() != nil {
		t.Error(other.Err())
	}
}

// TestNamesAreUTF8 gives names that plans and files could not hold.
func TestNamesAreUTF8(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	g.Input("a\xff", dtype.F32, 1)
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), `want a name in UTF-8, as plans and files hold names, got "a\xff"`) {
		t.Errorf("got %v", err)
	}
}
