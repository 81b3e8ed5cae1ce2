package kernels_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/accuracy"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/gather"
	"github.com/opgen/opgen/generated/pool2d"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// TestLabels feeds labels that are no class. The error names the task, the slot, the row and the classes.
func TestLabels(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.I32, dtype.I64} {
		for _, label := range []float64{-1, 3, 1 << 30} {
			g := graph.New(1)
			logits, labels := g.Input("logits", dtype.F32, 4, 3), g.Input("labels", typ, 4, 1)
			loss := scce.Apply(g, scce.Defaults(), scce.Logit(logits), scce.Label(labels))
			correct := accuracy.Apply(g, accuracy.Defaults(), accuracy.Logit(logits), accuracy.Label(labels))
			for _, x := range []graph.Tensor{loss, correct} {
				p, err := graph.Inference(g, x)
				if err != nil {
					t.Fatal(err)
				}
				_, err = run(p, values{"logits": make([]float64, 12), "labels": {0, 2, label, 1}}, optest.Execution{Workers: 2})
				op := x.Node().Op.Name
				want := fmt.Sprintf("plan inference, %s: %s.forward, range [0, 12): slot label, element [2, 0]: want an index from 0 to 2, got %.0f", op, op, label)
				if err == nil || err.Error() != want {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
		}
	}
}

// TestConditions applies operators to shapes and attributes for which they have no result.
func TestConditions(t *testing.T) {
	pool := func(h, w, kernel, padding int) error {
		g := graph.New(1)
		at := pool2d.Defaults(kernel, kernel)
		at.PaddingH, at.PaddingW = padding, padding
		pool2d.Apply(g, at, g.Input("x", dtype.F32, 1, 1, h, w))
		return g.Err()
	}
	conv := func(channels, groups int) error {
		g := graph.New(1)
		at := conv2d.Defaults(4, 2, 2)
		at.Groups = groups
		conv2d.Apply(g, at, g.Input("x", dtype.F32, 1, channels, 3, 3))
		return g.Err()
	}
	tests := []struct {
		err  error
		want string // "" if there is none
	}{
		{pool(2, 2, 2, 1), ""},
		{pool(0, 2, 2, 1), "want images of at least 1 x 1, got 0 x 2"},
		{pool(2, 0, 2, 1), "want images of at least 1 x 1, got 2 x 0"},
		{pool(2, 2, 3, 0), "want a window that fits into an image of 2 x 2 padded by 0 and 0, got 3 x 3"},
		{pool(2, 2, 2, 2), "want padding smaller than the window of 2 x 2, got 2 and 2"},
		{conv(4, 2), ""},
		{conv(3, 2), "want a number of groups that divides 3 channels and 4 filters, got 2"},
		{conv(3, 3), "want a number of groups that divides 3 channels and 4 filters, got 3"},
	}
	for i, tt := range tests {
		if tt.want == "" && tt.err != nil || tt.want != "" && (tt.err == nil || !strings.HasSuffix(tt.err.Error(), ": "+tt.want)) {
			t.Errorf("%d: got %v, want %q", i, tt.err, tt.want)
		}
	}
}

// TestRefusals applies operators to what the conditions of their specs exclude.
func TestRefusals(t *testing.T) {
	tests := []struct {
		op, attrs string
		inputs    [][]int
		want      string // "" if there is none
	}{
		{"reshape", `{"shape": [4]}`, [][]int{{2, 3}}, "want a shape with as many elements as [2, 3], got [4]"},
		{"squeeze", `{"axes": [0, 1]}`, [][]int{{1, 3}}, "want extents of 1 in dimensions [0, 1] of [1, 3]"},
		{"squeeze", `{"axes": [0, -2]}`, [][]int{{1, 3}}, "want different axes from 0 to 1 for [1, 3], got [0, 0]"},
		{"unsqueeze", `{"axes": [3]}`, [][]int{{2, 3}}, "want different axes from 0 to 2 for [2, 3], got [3]"},
		{"transpose", `{"permutation": [0]}`, [][]int{{2, 3}}, "want every dimension of [2, 3] once, got [0]"},
		{"broadcast", `{"target_dims": [3]}`, [][]int{{2, 3}}, "want target_dims that [2, 3] broadcasts to, got [3]"},
		{"broadcast", `{"target_dims": [2, 4]}`, [][]int{{2, 3}}, "want shapes that broadcast: equal extents, or 1, got [2, 3] and [2, 4]"},
		{"reduce", `{"op_type": "REDUCE_MAX", "axes": [1]}`, [][]int{{2, 0}}, "REDUCE_MAX needs elements along dimensions [1], got a tensor of shape [2, 0]"},
		{"reduce", `{"op_type": "REDUCE_SUM", "axes": [1]}`, [][]int{{2, 0}}, ""},
		{"reduce_arg", `{"op_type": "REDUCE_ARGMAX", "axes": [1]}`, [][]int{{2, 0}}, "REDUCE_ARGMAX needs elements along dimensions [1], got a tensor of shape [2, 0]"},
		{"batch_matmul", `{}`, [][]int{{2, 2, 3}, {3, 3, 2}}, "want shapes that broadcast: equal extents, or 1, got [2] and [3]"},
		{"batch_matmul", `{"a_seq_length_dim": 1}`, [][]int{{2, 3}, {3, 2}}, "want a_seq_length_dim and b_seq_length_dim to be absent, as sequences cannot be shortened"},
		{"layer_norm", `{"axes": [1]}`, [][]int{{2, 0}}, "want elements along dimensions [1], got a tensor of shape [2, 0]"},
		{"rms_norm", `{"axes": [1]}`, [][]int{{2, 0}}, "want elements along dimensions [1], got a tensor of shape [2, 0]"},
		{"batch_norm", `{}`, [][]int{{1, 3}}, "want several elements in a channel for training, as one element has no variance"},
		{"batch_norm", `{"training": false}`, [][]int{{1, 3}}, ""},
		{"topk", `{"k": 4}`, [][]int{{2, 3}}, "want k up to 3, the extent of the dimension, got 4"},
		{"adaptive_pool_2d", `{"output_h": 2, "output_w": 2}`, [][]int{{1, 1, 0, 2}}, "want images of at least 1 x 1, got 0 x 2"},
		{"input", `{"tensor_shape": [2]}`, [][]int{{3}}, "want a tensor of shape [2], as tensor_shape says, got [3]"},
		{"conv_2d", `{"out_channels": 1, "kernel_h": 3, "kernel_w": 3, "dilation_h": 4611686018427387904}`, [][]int{{1, 1, 3, 3}},
			"want integers that 64 bits hold, got 2 * 4611686018427387904"},
		{"conv_2d", `{"out_channels": 1, "kernel_h": 3, "kernel_w": 3, "padding_w": 4611686018427387904}`, [][]int{{1, 1, 3, 3}},
			"want integers that 64 bits hold, got 2 * 4611686018427387904"},
		{"conv_transpose_2d", `{"out_channels": 1, "kernel_h": 3, "kernel_w": 3, "stride_h": 9223372036854775807}`, [][]int{{1, 1, 3, 3}},
			"want integers that 64 bits hold, got 2 * 9223372036854775807"},
		{"repeat", `{"repeats": 4611686018427387904}`, [][]int{{2, 3}}, "want integers that 64 bits hold, got 4611686018427387904 * 3"},
		{"pad", `{"before": 9223372036854775807}`, [][]int{{2}}, "want integers that 64 bits hold, got 9223372036854775807 + 2 + 0"},
		{"group_by", `{"n": 1, "alpha": 1e300}`, [][]int{{2, 3}, {2, 1}}, "want integers that 64 bits hold, got 2e+300"},
		{"element_unary_logical", `{"scalar": 2}`, [][]int{{3}}, "want scalar to be absent, as LOGICAL_NOT has no second operand"},
	}
	ops := catalogue.Operators()
	for _, tt := range tests {
		op := ops[slices.IndexFunc(ops, func(o *graph.Operator) bool { return o.Name == tt.op })]
		at, err := op.DecodeAttrs([]byte(tt.attrs))
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New(1)
		in := graph.Insert[int](g, 0, op, at)
		for i, dims := range tt.inputs {
			typ := dtype.F32
			switch op.Slots[i].Type {
			case "bool":
				typ = dtype.Bool
			case "L":
				typ = dtype.I64
			}
			in.Bind(i, g.Input(fmt.Sprint("input ", i), typ, dims...))
		}
		in.Node()
		if err := g.Err(); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want)) {
			t.Errorf("%s%s: got %v, want %q", tt.op, tt.attrs, err, tt.want)
		}
	}
}

// TestIntegerRefusals divides an integer by 0.
func TestIntegerRefusals(t *testing.T) {
	g := graph.New(1)
	x, y := g.Input("x", dtype.I32, 2), g.Input("y", dtype.I32, 2)
	at := elementbinary.Defaults(elementbinary.TypeEwDiv)
	p, err := graph.Inference(g, elementbinary.Apply(g, at, elementbinary.LhsInput(x), elementbinary.RhsInput(y)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(p, values{"x": {1, 1}, "y": {0, -1}}, optest.Execution{})
	if want := ": operator element_binary: formula: an integer is divided by 0"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestIndices feeds indices that are out of range.
func TestIndices(t *testing.T) {
	for _, k := range []float64{-1, 3, 1 << 31} {
		g := graph.New(1)
		x, index := g.Input("x", dtype.F32, 3), g.Input("index", dtype.I64, 2)
		p, err := graph.Inference(g, gather.Apply(g, gather.Defaults(0), gather.Input(x), gather.Index(index)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = run(p, values{"x": make([]float64, 3), "index": {0, k}}, optest.Execution{})
		if want := fmt.Sprintf(": slot index, element [1]: want an index from 0 to 2, got %.0f", k); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		at := embedding.Defaults(3, 2)
		at.Aggr = embedding.AggrSum
		if p, err = graph.Inference(g, embedding.Apply(g, at, index)); err != nil {
			t.Fatal(err)
		}
		_, err = run(p, values{"index": {0, k}}, optest.Execution{})
		if want := fmt.Sprintf(": slot input, element [1]: want an index from 0 to 2, got %.0f", k); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// breaks is a body that fails as kernels with mistakes do.
type breaks struct{ op.Body }

func (breaks) Run(*op.Ctx, op.Range) error {
	var none []int
	return fmt.Errorf("unexpected element %d", none[3]) // the line that the test wants to see
}

// registerBroken registers element_unary with bodies that break.
func registerBroken(r *task.Registry) error {
	var right task.Registry
	if err := catalogue.Register(&right); err != nil {
		return err
	}
	t := right.Task(elementunary.Operator.Main().ID)
	variants := slices.Clone(t.Variants)
	for i := range variants {
		bind := variants[i].Bind
		variants[i].Bind = func(a *task.Accessor) ([]op.Body, error) {
			bodies, err := bind(a)
			for k, b := range bodies {
				bodies[k] = breaks{b}
			}
			return bodies, err
		}
	}
	return r.RegisterTask(t.ID, t.Name, t.Signature, variants...)
}

// TestPanics lets a kernel panic. The error names the kernel's file and line, also behind a plan's group and
// in checked mode.
func TestPanics(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4)
	for range 2 {
		x = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), x)
	}
	p, err := graph.Inference(g, x)
	if err != nil {
		t.Fatal(err)
	}
	for checked, hi := range map[bool]string{false: "4", true: "2"} { // checked mode halves a task of one range
		where := regexp.MustCompile(`element_unary\.forward, range \[0, ` + hi + `\): the kernel panicked at (.*/)?kernels/errors_test\.go:\d+: runtime error: index out of range \[3\] with length 0$`)
		if _, err := optest.Run(registerBroken, p, values{"x": {1, 2, 3, 4}}, optest.Execution{Checked: checked}); err == nil || !where.MatchString(err.Error()) {
			t.Errorf("got %v", err)
		}
	}
}
