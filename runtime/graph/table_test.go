package graph_test

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/tensor"
)

// TestTable keeps a value for each of the tensors of two graphs, and one for none. There are more tensors
// than a page of a table holds.
func TestTable(t *testing.T) {
	var x graph.Table[int]
	a, b := graph.New(1), graph.New(1)
	var all []graph.Tensor
	for i := range 400 {
		g := a
		if i%3 == 0 {
			g = b
		}
		all = append(all, g.Input(fmt.Sprint("x", i), dtype.F32, 1))
	}
	for i, v := range all {
		if got := *x.At(v); got != 0 || !v.Valid() {
			t.Fatalf("tensor %d, %v, begins with %d", i, v, got)
		}
		*x.At(v) = i + 1
	}
	*x.At(graph.Tensor{}) = -1
	for i, v := range all {
		if got := *x.At(v); got != i+1 {
			t.Errorf("tensor %d has %d", i, got)
		}
	}
	if got := *x.At(graph.Tensor{}); got != -1 {
		t.Errorf("none has %d", got)
	}
}

// TestTableOfGradients finds the value of a gradient also with the note that earlier tasks have contributed
// to it.
func TestTableOfGradients(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 2)
	b, c := times(g, x, 3, "b"), times(g, x, 5, "c")
	seed := g.Input("seed", dtype.F64, 2)
	p, grads, err := graph.Gradients(g, tensors{b: seed, c: seed}, []graph.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	var table graph.Table[int]
	*table.At(grads[x]) = 7
	noted := 0
	for _, s := range p.Steps {
		if s.Invocation == nil {
			continue
		}
		for _, operands := range s.Invocation.Operands {
			for _, v := range operands {
				if v.Mode() != tensor.Accumulate || v.Root() != grads[x].Root() {
					continue
				}
				noted++
				if v == v.Root() || *table.At(v) != 7 {
					t.Errorf("%v with a note has %d", v, *table.At(v))
				}
			}
		}
	}
	if noted != 1 {
		t.Errorf("%d tasks contribute to the gradient of x after others, want 1", noted)
	}
}

// TestElements compares shapes without copies of them.
func TestElements(t *testing.T) {
	x := graph.New(1).Input("x", dtype.F32, 2, 3)
	if !x.ShapeIs([]int{2, 3}) || x.ShapeIs([]int{3, 2}) || x.ShapeIs([]int{2}) || x.Elements() != 6 {
		t.Errorf("%v: %d elements", x, x.Elements())
	}
	if none := (graph.Tensor{}); none.ShapeIs(nil) || none.Elements() != 0 {
		t.Errorf("none has %d elements", none.Elements())
	}
}
