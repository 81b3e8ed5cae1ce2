package kernels_test

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// TestShapes compares shapes of outputs that only the spec states: formulas move elements by their number in
// such tensors, so any shape of as many elements would do for them.
func TestShapes(t *testing.T) {
	for _, tt := range []struct {
		op, attrs  string
		dims, want []int
	}{
		{"flat", `{"start_dim": 1}`, d(2, 3, 4), d(2, 12)},
		{"flat", `{"start_dim": 0, "end_dim": -1}`, d(2, 3, 4), d(6, 4)},
		{"flat", `{"start_dim": 1, "end_dim": 3}`, d(2, 3, 4, 5), d(2, 12, 5)},
		{"flat", `{}`, d(2, 3, 4), d(24)},
		{"reshape", `{"shape": [4, 6]}`, d(2, 3, 4), d(4, 6)},
		{"squeeze", `{"axes": [-1, 1]}`, d(3, 1, 2, 1), d(3, 2)},
		{"unsqueeze", `{"axes": [3, 1]}`, d(3, 2), d(3, 1, 2, 1)},
		{"concat_flat", `{}`, d(2, 3), d(6)},
	} {
		ops := catalogue.Operators()
		op := ops[slices.IndexFunc(ops, func(o *graph.Operator) bool { return o.Name == tt.op })]
		attrs, err := op.DecodeAttrs([]byte(tt.attrs))
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New(1)
		insertion := graph.Insert[int](g, 0, op, attrs)
		insertion.Bind(0, g.Input("input", dtype.F32, tt.dims...))
		node := insertion.Node()
		if g.Err() != nil {
			t.Errorf("%s%s of shape %v: %v", tt.op, tt.attrs, tt.dims, g.Err())
			continue
		}
		output := node.Tensor(slices.IndexFunc(op.Slots, func(s task.Slot) bool { return s.Role == task.RoleOutput }))
		if got := output.Shape(); !slices.Equal(got, tt.want) {
			t.Errorf("%s%s of shape %v: got shape %v, want %v", tt.op, tt.attrs, tt.dims, got, tt.want)
		}
	}
}
