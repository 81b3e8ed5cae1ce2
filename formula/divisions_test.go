package formula_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	attention "github.com/opgen/opgen/generated/multiheadattentiongeneral"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// TestAttributesOfParts divides the features of a matrix product and the heads of attention. The attribute
// that gives the extent is that of the part there, and biases of sums count once.
func TestAttributesOfParts(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 6, 4)
	linear.Apply(g, linear.Defaults(8), x, graph.Named("linear"))
	attention.Apply(g, attention.Defaults(4, 6, 3, 2, 0.5).WithCausal(true), attention.Query(x), attention.Key(x), attention.Value(x), graph.Named("heads"))
	attention.Apply(g, attention.Defaults(4, 6, 3, 2, 0.5).WithDropout(0.5), attention.Query(x), attention.Key(x), attention.Value(x), graph.Named("dropped"))
	attention.Apply(g, attention.Defaults(4, 6, 3, 2, 0.5).WithBias(false), attention.Query(x), attention.Key(x), attention.Value(x), graph.Named("values"))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	find := func(n *graph.Node, slot, axis int) *task.Division {
		all, err := n.Op.Divisions(n.Resolved)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if at, ok := all[i].Axes[slot]; ok && at == axis {
				return &all[i]
			}
		}
		return nil
	}
	nodes := g.Nodes()
	for _, tt := range []struct {
		node          *graph.Node
		slot, axis    int
		attr          string
		partial       bool
		once          int
		divided       int // a slot with the dimension
		parts, extent int // an attribute of a part
	}{
		{nodes[0], int(linear.SlotWeight), 0, "out_channels", false, -1, int(linear.SlotBias), 4, 2},
		{nodes[0], int(linear.SlotWeight), 1, "", true, int(linear.SlotBias), int(linear.SlotInput), 4, 0},
		{nodes[1], int(attention.SlotWq), 0, "num_heads", true, int(attention.SlotOutputBias), int(attention.SlotWo), 3, 2},
	} {
		d := find(tt.node, tt.slot, tt.axis)
		if d == nil || d.Attr != tt.attr || d.Partial != tt.partial || d.Once != tt.once {
			t.Errorf("%s, slot %d: got %+v", tt.node.Name, tt.slot, d)
			continue
		}
		if _, ok := d.Axes[tt.divided]; !ok {
			t.Errorf("%s, slot %d: want slot %d divided, too, got %+v", tt.node.Name, tt.slot, tt.divided, d)
		}
		attrs, err := d.Divide(&tt.node.Op.Operator, tt.node.Attrs, tt.parts)
		if err != nil {
			t.Fatal(err)
		}
		var got int
		switch a := attrs.(type) {
		case linear.Attrs:
			got = a.OutChannels
		case attention.Attrs:
			got = a.NumHeads
		}
		if want := tt.extent; want > 0 && got != want {
			t.Errorf("%s: got %d in a part, want %d", tt.attr, got, want)
		}
		_, err = d.Divide(&tt.node.Op.Operator, tt.node.Attrs, 5)
		if e, ok := errors.AsType[*op.Error](err); tt.attr != "" && (!ok || e.Operator != tt.node.Op.FullName()) {
			t.Errorf("%s in 5 parts: got %v", tt.attr, err)
		}
	}
	if d := find(nodes[3], int(attention.SlotValue), 2); d != nil {
		t.Errorf("each device has all probabilities beside a partial sum of the output, got %+v", d)
	}
	if d := find(nodes[2], int(attention.SlotWq), 0); d != nil {
		t.Errorf("numbers drawn by the number of an element differ in parts, got %+v", d)
	}
}

// TestNumberedElements divides uses whose formula counts all elements of tensors: along the first dimension,
// if all tensors have the same one. No other dimension divides, since its parts do not follow each other.
func TestNumberedElements(t *testing.T) {
	for _, tt := range []struct {
		shape      []int
		start, end int
		want       []map[int]int
	}{
		{[]int{4, 3, 2}, 1, 3, []map[int]int{{0: 0, 1: 0}}},
		{[]int{4, 3, 2, 2}, 2, 4, []map[int]int{{0: 0, 1: 0}}},
		{[]int{4, 3, 2}, 0, 2, nil}, // 12 rows of 2
		{[]int{4, 3, 2}, 0, 3, nil}, // 24
		{[]int{1, 3, 2}, 1, 3, nil},
	} {
		g := graph.New(1)
		flat.Apply(g, flat.Defaults().WithStartDim(tt.start).WithEndDim(tt.end), g.Input("x", dtype.F32, tt.shape...))
		if err := g.Err(); err != nil {
			t.Fatal(err)
		}
		n := g.Nodes()[0]
		got, err := n.Op.Divisions(n.Resolved)
		if err != nil || !slices.EqualFunc(got, tt.want, func(d task.Division, axes map[int]int) bool { return maps.Equal(d.Axes, axes) && !d.Partial }) {
			t.Errorf("%v, dimensions %d to %d: got %+v, %v", tt.shape, tt.start, tt.end, got, err)
		}
	}
}
