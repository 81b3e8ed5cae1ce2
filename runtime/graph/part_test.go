package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/batchnorm"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/transpose"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// of returns a partition as text gives it: extents, degrees, replicas.
func of(extents, degrees []int, replicas int) partition.Partition {
	return partition.Partition{Extents: extents, Degrees: degrees, Replicas: replicas}
}

// TestParallel gives partitions of inputs, and of weights, and finds the others.
func TestParallel(t *testing.T) {
	type given = map[int][]partition.Partition
	at := func(slot linear.Slot) int { return int(slot) }
	for name, tt := range map[string]struct {
		attrs linear.Attrs
		given given
		want  string // of weight and output, or the error
	}{
		"data":      {linear.Defaults(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{2, 1}, 0)}}, "[8, 4] x2 replicas; [6/2, 8]"},
		"replicas":  {linear.Defaults(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{1, 1}, 4)}}, "[8/4, 4]; [6, 8/4]"},
		"both":      {noBias(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{2, 1}, 4)}}, "[8/4, 4] x2 replicas; [6/2, 8/4]"},
		"inner":     {noBias(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{1, 2}, 0)}}, "[8, 4/2]; [6, 8] x2 sums"},
		"weight":    {noBias(8), given{at(linear.SlotWeight): {of([]int{8, 4}, []int{2, 1}, 0)}}, "[8/2, 4]; [6, 8/2]"},
		"bias":      {linear.Defaults(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{1, 2}, 0)}}, "operator linear, slot input: want dimension 1 undivided, since each part of the result needs all of it; dimension 0 may be divided, got degree 2"},
		"uneven":    {noBias(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{4, 1}, 0)}}, "want a degree that divides the extent 6 of dimension 0, got 4"},
		"conflict":  {noBias(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{1, 2}, 0)}, at(linear.SlotWeight): {of([]int{8, 4}, []int{1, 4}, 0)}}, "slot weight: want degree 2 of dimension 1, as of input, got 4"},
		"too few":   {noBias(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{1, 1}, 0)}, at(linear.SlotWeight): {of([]int{8, 4}, []int{2, 1}, 0)}}, "slot input: want a multiple of 2 replicas, one for each part of what it is combined with, got 1"},
		"of 3":      {noBias(8), given{at(linear.SlotInput): {of([]int{6, 4}, []int{1, 1}, 3)}}, "slot weight: want replicas whose number divides the extent 8 of out_channels, got 3"},
		"sums":      {noBias(8), given{at(linear.SlotInput): {{Extents: []int{6, 4}, Degrees: []int{1, 1}, Sums: 2}}}, "slot input: want a tensor whose terms were added, got [6, 4] x2 sums"},
		"of output": {noBias(8), given{at(linear.SlotOutput): {of([]int{6, 8}, []int{2, 1}, 0)}}, "operator linear: want partitions of inputs and weights, got one of output"},
		"shape":     {noBias(8), given{at(linear.SlotInput): {of([]int{6, 5}, []int{1, 1}, 0)}}, "slot input: want a partition of f32[6, 4], got [6, 5]"},
	} {
		g := graph.New(1)
		n := linear.Apply(g, tt.attrs, g.Input("x", dtype.F32, 6, 4)).Node()
		out, err := n.Op.Parallel(n.Resolved, tt.given, false)
		if err != nil {
			if !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
			}
			continue
		}
		if got := out[linear.SlotWeight][0].String() + "; " + out[linear.SlotOutput][0].String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// TestPartInput follows the parts of a tensor through a network: linear's weights are replicas, softmax keeps
// rows whole.
func TestPartInput(t *testing.T) {
	g := graph.New(1)
	x := g.PartInput("x", dtype.F32, of([]int{8, 4}, []int{2, 1}, 0))
	y := softmax.Apply(g, softmax.Defaults(), linear.Apply(g, noBias(3), x))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	weight := x
	for _, n := range g.Nodes() {
		if n.Op.Name == "linear" {
			weight = n.Tensor(int(linear.SlotWeight))
		}
	}
	if got := []string{x.String(), y.Partition().String(), weight.Partition().String()}; strings.Join(got, "; ") != "x f32[4, 4]; [8/2, 3]; [3, 4] x2 replicas" {
		t.Errorf("got %v", got)
	}
	for want, p := range map[string]partition.Partition{
		"want parts of one shape, got [3/2]":         of([]int{3}, []int{2}, 0),
		"want a degree for each of 1 dimensions":     of([]int{3}, nil, 0),
		"want parts of one shape, got [4] in 1 tile": {Extents: []int{4}, Degrees: []int{1}, Tiles: []partition.Box{{Lo: []int{0}, Hi: []int{4}}}},
	} {
		g := graph.New(1)
		if g.PartInput("x", dtype.F32, p); g.Err() == nil || !strings.Contains(g.Err().Error(), want) {
			t.Errorf("%v: got %v", p, g.Err())
		}
	}
}

// TestPartErrors applies operators to parts that they cannot be applied to one by one.
func TestPartErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		whole partition.Partition
		apply func(g *graph.Graph, x graph.Tensor) graph.Tensor
		want  string
	}{
		"softmax along a divided dimension": {of([]int{8, 4}, []int{1, 2}, 0), func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return softmax.Apply(g, softmax.Defaults(), x)
		}, "node softmax: operator softmax, slot input: want dimension 1 undivided, since each part of the result needs all of it; dimension 0 may be divided, got degree 2"},
		"a function of partial sums": {of([]int{8, 4}, []int{1, 2}, 0), func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), linear.Apply(g, noBias(3), x))
		}, "node element_unary: operator element_unary, slot input: want a tensor whose terms were added, got [8, 3] x2 sums"},
		"a bias for each partial sum": {of([]int{8, 4}, []int{1, 2}, 0), func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return linear.Apply(g, linear.Defaults(3), x)
		}, "node linear: operator linear, slot input: want dimension 1 undivided, since each part of the result needs all of it; dimension 0 may be divided, got degree 2"},
		"a part and a whole": {of([]int{8, 4}, []int{2, 1}, 0), func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(g.Input("y", dtype.F32, 4, 4)))
		}, "node element_binary: operator element_binary, slot rhs_input: want a part of [8/2, 4], got y f32[4, 4], which is whole"},
		"an element's number in the whole": {of([]int{8, 4}, []int{2, 1}, 0), func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return reshape.Apply(g, reshape.Defaults(attr.ListOf(16)), x)
		}, "node reshape: operator reshape, slot input: want dimension 0 undivided, since each part of the result needs all of it; no dimension may be divided, got degree 2"},
	} {
		g := graph.New(1)
		tt.apply(g, g.PartInput("x", dtype.F32, tt.whole))
		if err := g.Err(); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}

// TestWhole applies an operator whose output has each pair of elements. Its second extent depends on a
// divided one in a way that no axis shows, so the parts of the output are no parts of what the whole gives.
func TestWhole(t *testing.T) {
	pairs := &graph.Operator{Operator: task.Operator{
		Name: "pairs",
		Slots: []task.Slot{{Name: "x", Role: task.RoleInput, Type: "f32", Shape: "[N]"},
			{Name: "y", Role: task.RoleOutput, Type: "f32", Shape: "[N, N]"}},
		Shards: []task.Shard{{Dim: "N"}},
		Resolve: func(o *task.Operator, _ task.Attrs, given task.Given) (*task.Resolution, error) {
			n := given.Operands[0][0].Shape[0]
			return &task.Resolution{Slots: [][]task.Operand{given.Operands[0], {{Type: dtype.F32, Shape: []int{n, n}}}},
				Shards: [][]task.ShardAxes{{{Slot: 0, Lo: 0, Hi: 1}, {Slot: 1, Lo: 0, Hi: 1}}}}, nil
		},
	}}
	g := graph.New(1)
	graph.Insert[int](g, 0, pairs, struct{}{}).Bind(0, g.PartInput("x", dtype.F32, of([]int{8}, []int{2}, 0))).Node()
	const want = "node pairs: operator pairs, slot y: want parts of f32[8, 8], which is what the operator makes of the whole inputs, got [8/2, 4]"
	if err := g.Err(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestParts follows parts through operators whose divisions follow from their formulas only.
func TestParts(t *testing.T) {
	g := graph.New(1)
	x := g.PartInput("x", dtype.F32, of([]int{4, 6, 8}, []int{2, 1, 1}, 0))
	row := g.Input("row", dtype.F32, 8)
	y := elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(row))
	z := transpose.Apply(g, transpose.Defaults(attr.ListOf(1, 0, 2)), y)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if got := y.Partition().String() + " " + z.Partition().String() + " " + fmt.Sprint(z.Shape()); got != "[4/2, 6, 8] [6, 4/2, 8] [6 2 8]" {
		t.Errorf("got %s", got)
	}
	// A replicated input divides the weight: the node makes its part of the output, as Megatron's first
	// layer.
	w := g.PartInput("w", dtype.F32, of([]int{4, 8}, []int{1, 1}, 2))
	h := linear.Apply(g, linear.Defaults(8), w)
	o := linear.Apply(g, noBias(8), h)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(h.Partition(), h.Shape(), o.Partition(), o.Shape()); got != "[4, 16/2] [4 8] [4, 8] x2 sums [4 8]" {
		t.Errorf("got %s", got)
	}
}

// TestComputedWeight gives a tensor that is computed in place of a weight: it is no variable then. A weight
// that the operator writes must be one.
func TestComputedWeight(t *testing.T) {
	g := graph.New(1)
	x, w := g.Input("x", dtype.F32, 2, 4), g.Input("w", dtype.F32, 3, 4)
	made := softmax.Apply(g, softmax.Defaults(), w)
	y := linear.Apply(g, noBias(3), x, graph.Weight(linear.SlotWeight, made))
	p, err := graph.Inference(g, y)
	if err != nil || len(p.Variables) != 0 || len(p.Fed) != 2 || len(p.Steps) != 2 {
		t.Errorf("got %v, %v", p, err)
	}
	if _, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: g.Input("dy", dtype.F32, 2, 3)}, []graph.Tensor{w}); err != nil || !grads[w].Valid() {
		t.Errorf("got the gradients %v, %v: want one of w", grads, err)
	}
	batchnorm.Apply(g, batchnorm.Defaults(), x, graph.Weight(batchnorm.SlotRunningMean, g.Input("mean", dtype.F32, 4)))
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "slot running_mean: want a weight of the node's graph, since the operator changes it, got mean f32[4]") {
		t.Errorf("got %v", err)
	}
}

// TestWeightErrors lists weights of other nodes that do not fit.
func TestWeightErrors(t *testing.T) {
	other := linear.Apply(graph.New(1), noBias(3), graph.New(1).Input("x", dtype.F32, 2, 4))
	for name, tt := range map[string]struct {
		slot linear.Slot
		of   func(x graph.Tensor, n *graph.Node) graph.Tensor
		want string
	}{
		"no weight slot": {linear.SlotInput, func(x graph.Tensor, n *graph.Node) graph.Tensor { return x }, "slot input: want a weight for Weight, got one of role input"},
		"no slot":        {99, func(x graph.Tensor, n *graph.Node) graph.Tensor { return x }, "want a weight for Weight, got Slot(99)"},
		"no weight":      {linear.SlotWeight, func(x graph.Tensor, n *graph.Node) graph.Tensor { return x }, "slot weight: want f32[3, 4], got x f32[2, 4]"},
		"none":           {linear.SlotWeight, func(x graph.Tensor, n *graph.Node) graph.Tensor { return other }, "slot weight: want a weight of the node's graph, got no tensor"},
		"shape":          {linear.SlotWeight, func(x graph.Tensor, n *graph.Node) graph.Tensor { return n.Tensor(int(linear.SlotBias)) }, "slot weight: want f32[3, 4], got linear.bias f32[3]"},
		"absent":         {linear.SlotBias, func(x graph.Tensor, n *graph.Node) graph.Tensor { return n.Tensor(int(linear.SlotBias)) }, "slot bias: want no tensor, got a tensor"},
	} {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 2, 4)
		n := linear.Apply(g, linear.Defaults(3), x).Node()
		linear.Apply(g, noBias(3), x, graph.Weight(tt.slot, tt.of(x, n)))
		if err := g.Err(); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}
