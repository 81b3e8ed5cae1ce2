package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// listing writes a program, one step a line.
func listing(p *graph.Program) string {
	var b strings.Builder
	for _, s := range p.Steps {
		switch {
		case s.Fill != nil:
			fmt.Fprintf(&b, "%v: fill %s with %v\n", s.Phase, s.Fill.Tensor.Name(), s.Fill.Value)
		case s.Add != nil:
			fmt.Fprintf(&b, "%v: add %s to %s\n", s.Phase, s.Add.From.Name(), s.Add.To.Name())
		default:
			fmt.Fprintf(&b, "%v: %s %s\n", s.Phase, s.Invocation.Node.Name, s.Invocation.Signature.Task)
		}
	}
	return b.String()
}

func names(ts []graph.Tensor) string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Name())
	}
	return strings.Join(out, " ")
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func unary(g *graph.Graph, op elementunary.OpType, x graph.Tensor, opts ...graph.Option) graph.Tensor {
	at := elementunary.Defaults(op)
	return elementunary.Apply(g, at, x, opts...)
}

// loss is the cross entropy of logits.
func loss(g *graph.Graph, x, label graph.Tensor, opts ...graph.Option) graph.Tensor {
	return scce.Apply(g, scce.Defaults(), scce.Logit(x), scce.Label(label), opts...)
}

// TestInference checks that only what is needed is computed, in the order of insertion.
func TestInference(t *testing.T) {
	g := graph.New(1)
	x, z := g.Input("x", dtype.F32, 2, 3), g.Input("z", dtype.F32, 2, 3)
	a := linear.Apply(g, dense(3), x, graph.Named("a"))
	linear.Apply(g, dense(3), a, graph.Named("dead"))
	b := unary(g, elementunary.OpTypeRelu, a, graph.Named("b"))
	unary(g, elementunary.OpTypeRelu, z, graph.Named("apart"))
	c := add(g, b, a, graph.Named("c"))
	p, err := graph.Inference(g, c, a)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "steps", listing(p), "forward: a forward\nforward: b forward\nforward: c forward\n")
	compare(t, "fed, fetched, variables", names(p.Fed)+"; "+names(p.Fetched)+"; "+names(p.Variables), "x; c.output a.output; a.weight a.bias")
	whole, err := graph.Whole(g, x)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "all steps", listing(whole), "forward: a forward\nforward: dead forward\nforward: b forward\nforward: apart forward\nforward: c forward\n")
	compare(t, "all inputs", names(whole.Fed), "x z")
	// An input or a variable can be fetched, too.
	p, err = graph.Inference(g, z, a.Node().Tensor(int(linear.SlotBias)))
	if err != nil || names(p.Fed) != "x z" || names(p.Variables) != "a.weight a.bias" {
		t.Errorf("fed %s, variables %s, %v", names(p.Fed), names(p.Variables), err)
	}
}

func TestFetchErrors(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	y := softmax.Apply(g, softmax.Defaults(), x)
	seed := g.Input("seed", dtype.F32, 2, 3)
	_, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	foreign := graph.New(1).Input("foreign", dtype.F32, 2, 3)
	tests := []struct {
		fetch graph.Tensor
		want  string
	}{
		{graph.Tensor{}, "graph: want a tensor of this graph, got no tensor"},
		{foreign, "graph: want a tensor of this graph, got foreign f32[2, 3]"},
		{grads[x], "graph: want a tensor that forward computes, got grad of x f32[2, 3]"},
	}
	for _, tt := range tests {
		for name, f := range map[string]func() error{
			"Inference": func() error { _, err := graph.Inference(g, y, tt.fetch); return err },
			"Whole":     func() error { _, err := graph.Whole(g, tt.fetch); return err },
			"Gradients": func() error {
				_, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x}, tt.fetch)
				return err
			},
		} {
			if err := f(); err == nil || err.Error() != tt.want {
				t.Errorf("%s: got %v, want %s", name, err, tt.want)
			}
		}
	}
	for want, f := range map[string]func() error{
		"graph: want a gradient like softmax.output f32[2, 3], got no tensor": func() error {
			_, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: {}}, nil)
			return err
		},
		"graph: want an input of this graph as a gradient, got softmax.output f32[2, 3]": func() error {
			_, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: y}, nil)
			return err
		},
		"graph: want an input of this graph as a gradient, got foreign f32[2, 3]": func() error {
			_, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: foreign}, nil)
			return err
		},
		"graph: want a tensor of this graph, got foreign f32[2, 3]": func() error {
			_, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{foreign: seed}, nil)
			return err
		},
		"graph: want a floating-point tensor to differentiate by, got no tensor": func() error {
			_, _, err := graph.Gradients(g, nil, []graph.Tensor{{}})
			return err
		},
	} {
		if err := f(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func plainSgd() graph.Optimizer {
	at := sgd.Defaults(0.1)
	return sgd.Optimizer(at)
}

// TestTraining checks the order of a training step, and that branches which the loss does not depend
// on, or which hold no weights, have no backward.
func TestTraining(t *testing.T) {
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, 2, 3), g.Input("label", dtype.I32, 2, 1)
	clean := unary(g, elementunary.OpTypeTanh, x, graph.Named("clean")) // no weight above it
	a := linear.Apply(g, dense(3), clean, graph.Named("a"))
	side := linear.Apply(g, dense(3), a, graph.Named("side")) // only fetched
	linear.Apply(g, dense(3), a, graph.Named("dead"))
	b := linear.Apply(g, dense(2), a, graph.Named("b"))
	l := loss(g, b, label, graph.Named("loss"))
	p, err := graph.Training(g, l, plainSgd(), side)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "steps", listing(p), `forward: clean forward
forward: a forward
forward: side forward
forward: b forward
forward: loss forward
backward: fill grad of loss.loss with 1
backward: loss backward
backward: b backward
backward: a backward
update: a.weight.sgd update
update: a.bias.sgd update
update: b.weight.sgd update
update: b.bias.sgd update
`)
	compare(t, "fed and fetched", names(p.Fed)+"; "+names(p.Fetched), "x label; loss.loss side.output")
	for _, s := range p.Steps {
		if s.Invocation == nil || s.Phase != graph.Backward || s.Invocation.Node.Name != "a" {
			continue
		}
		for i, par := range s.Invocation.Signature.Params {
			if par.Grad && par.Slot == int(linear.SlotInput) && len(s.Invocation.Operands[i]) > 0 {
				t.Error("the unused gradient of clean.output is computed")
			}
		}
	}
}

func TestTrainingErrors(t *testing.T) {
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, 2, 3), g.Input("label", dtype.I32, 2, 1)
	count := g.Input("count", dtype.I32)
	free := loss(g, softmax.Apply(g, softmax.Defaults(), x), label, graph.Named("free"))
	weighted := linear.Apply(g, dense(2), x, graph.Named("fc"))
	for want, l := range map[string]graph.Tensor{
		"graph: free.loss depends on no trainable weight":                      free,
		"graph: want a floating-point scalar as loss, got fc.output f32[2, 2]": weighted,
		"graph: want a floating-point scalar as loss, got count i32[]":         count,
		"graph: want a floating-point scalar as loss, got no tensor":           {},
		"graph: want a tensor of this graph, got foreign f32[]":                graph.New(1).Input("foreign", dtype.F32),
	} {
		// The fetched tensor depends on weights, but the loss does not.
		if p, err := graph.Training(g, l, plainSgd(), weighted); err == nil || err.Error() != want || p != nil {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	l := loss(g, weighted, label)
	wrong := func(u *graph.Graph, weights, _ []graph.Tensor) { linear.Apply(u, linear.Defaults(0), weights[0]) }
	if _, err := graph.Training(g, l, wrong); err == nil || !strings.HasSuffix(err.Error(), "operator linear: attribute out_channels: want at least 1, got 0") || !strings.HasPrefix(err.Error(), "program_test.go:") {
		t.Errorf("a wrong optimizer: %v", err)
	}
	if _, err := graph.Training(g, l, nil); err == nil || err.Error() != "graph: want an optimizer, got none" {
		t.Errorf("without an optimizer: %v", err)
	}
	if g.Err() != nil {
		t.Errorf("the graph is wrong now: %v", g.Err())
	}
}

// TestProgramsAreRepeatable builds programs of one graph and of equal graphs many times. They must be
// the same to the letter, also where several auxiliary losses begin the backward part.
func TestProgramsAreRepeatable(t *testing.T) {
	build := func() (*graph.Graph, graph.Tensor) {
		g := graph.New(1)
		x, label := g.Input("x", dtype.F32, 2, 3), g.Input("label", dtype.I32, 2, 1)
		for i := range 6 {
			at := dense(3)
			at.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.1))
			x = linear.Apply(g, at, x, graph.Named(fmt.Sprint("fc", i)))
		}
		return g, loss(g, x, label)
	}
	train := func(g *graph.Graph, l graph.Tensor) string {
		at := sgd.Defaults(0.1)
		at.Momentum = 0.9
		p, err := graph.Training(g, l, sgd.Optimizer(at))
		if err != nil {
			t.Fatal(err)
		}
		return listing(p) + names(p.Variables)
	}
	g, l := build()
	want := train(g, l)
	if n := strings.Count(want, ".regularization with 1"); n != 6 {
		t.Errorf("%d auxiliary losses, want 6", n)
	}
	for range 10 {
		compare(t, "the same graph again", train(g, l), want)
		other, l := build()
		compare(t, "an equal graph", train(other, l), want)
	}
}

func TestInitialization(t *testing.T) {
	build := func(out int) *graph.Program {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 2, 3)
		p, err := graph.Inference(g, linear.Apply(g, dense(out), x, graph.Named("fc")))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := build(4)
	init, err := graph.Initialization(p, build(4), p)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "steps", listing(init), "initialize: fc.weight forward\ninitialize: fc.bias forward\n")
	compare(t, "variables", names(init.Variables), "fc.weight fc.bias")
	var ops []string
	for _, s := range init.Steps {
		ops = append(ops, s.Invocation.Node.Op.Name)
	}
	if !slices.Equal(ops, []string{"kaiming_uniform", "zero"}) {
		t.Errorf("the initializers are %v", ops)
	}
	_, err = graph.Initialization(p, build(5))
	if want := "variable fc.weight: want f32[4, 3], as in another program, got f32[5, 3]"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if p, err := graph.Initialization(); err != nil || len(p.Steps) != 0 {
		t.Errorf("of nothing: %v, %v", p, err)
	}
}

// TestNoInitializer inserts an operator whose weight has no initializer, and one whose weight has an
// operator that is none.
func TestNoInitializer(t *testing.T) {
	op := *linear.Operator
	op.Initializers = nil
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	graph.Insert[int](g, 0, &op, dense(4)).Bind(0, x).Node()
	if err := g.Err(); err == nil || !strings.HasSuffix(err.Error(), ": node linear, slot weight: want an initializer, got none") {
		t.Errorf("%v", err)
	}
	op.Initializers = map[int]*graph.Operator{int(linear.SlotWeight): flat.Operator, int(linear.SlotBias): flat.Operator}
	g = graph.New(1)
	x = g.Input("x", dtype.F32, 2, 3)
	y := graph.Insert[int](g, 0, &op, dense(4)).Bind(0, x).Node().Tensor(int(linear.SlotOutput))
	p, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	_, err = graph.Initialization(p)
	if want := "variable linear.weight: operator flat: want an output that the caller provides, as an initializer has"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAuxiliaryLossAlone trains a graph with an operator that is applied for its auxiliary loss. Training
// adds the loss and updates the operator's weight, unless something else reads another output of the
// operator, or fetches it.
func TestAuxiliaryLossAlone(t *testing.T) {
	const penalized = "gate.regularization with 1"
	for name, want := range map[string]bool{"alone": true, "read": false, "fetched": false, "none": false} {
		g := graph.New(1)
		x, label := g.Input("x", dtype.F32, 2, 3), g.Input("label", dtype.I32, 2, 1)
		at := dense(3)
		if name != "none" {
			at.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.1))
		}
		gate := linear.Apply(g, at, x, graph.Named("gate"))
		l := loss(g, linear.Apply(g, dense(3), x, graph.Named("fc")), label)
		var fetch []graph.Tensor
		switch name {
		case "read":
			loss(g, gate, label) // another loss of the graph, which this training leaves out
		case "fetched":
			fetch = append(fetch, gate)
		}
		p, err := graph.Training(g, l, sgd.Optimizer(sgd.Defaults(0.1)), fetch...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(listing(p)+names(p.Variables), penalized); got != want {
			t.Errorf("%s: the loss counts: %v, want %v\n%s", name, got, want, listing(p))
		}
		if got := strings.Contains(listing(p), "update: sgd_1") || strings.Contains(names(p.Variables), "gate.weight"); got != (want || name == "fetched") {
			t.Errorf("%s: %s\n%s", name, listing(p), names(p.Variables))
		}
	}
}
