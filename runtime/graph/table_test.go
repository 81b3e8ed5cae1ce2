package graph

import (
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// TestTable keeps a value for each of the tensors of two graphs, and one for none.
func TestTable(t *testing.T) {
	var x Table[int]
	a, b := New(1), New(1)
	var all []Tensor
	for i := range 3 * pageSize {
		g := a
		if i%3 == 0 {
			g = b
		}
		all = append(all, g.tensor(info{name: "x"}))
	}
	for i, v := range all {
		if got := *x.At(v); got != 0 {
			t.Fatalf("tensor %d begins with %d", i, got)
		}
		*x.At(v) = i + 1
	}
	*x.At(Tensor{}) = -1
	for i, v := range all {
		if got := *x.At(Tensor{info: v.info, add: true}); got != i+1 {
			t.Errorf("tensor %d has %d", i, got)
		}
	}
	if got := *x.At(Tensor{}); got != -1 {
		t.Errorf("none has %d", got)
	}
}

// TestElements compares shapes without copies of them.
func TestElements(t *testing.T) {
	x := New(1).Input("x", dtype.F32, 2, 3)
	if !x.ShapeIs([]int{2, 3}) || x.ShapeIs([]int{3, 2}) || x.ShapeIs([]int{2}) || x.Elements() != 6 {
		t.Errorf("%v: %d elements", x, x.Elements())
	}
	if none := (Tensor{}); none.ShapeIs(nil) || none.Elements() != 0 {
		t.Errorf("none has %d elements", none.Elements())
	}
}
