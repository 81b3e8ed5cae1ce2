package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestGraphs judges some random graphs.
func TestGraphs(t *testing.T) {
	compared := 0
	for i := range uint64(6) {
		text, k, err := judgeNetwork(1, i)
		if err != nil {
			t.Errorf("graph %d: %v\n%s", i, err, text)
		}
		compared += k
	}
	if compared < 1000 {
		t.Errorf("want 1000 elements to be compared, got %d", compared)
	}
}

// TestDifferencesBetweenRows judges a difference of rows beside elementwise operators: groups of tasks run it
// range by range, and its ranges end within rows.
func TestDifferencesBetweenRows(t *testing.T) {
	for _, f := range []string{"EW_SUB", "EW_DIV"} {
		n := &network{Rand: rand.New(rand.NewPCG(1, 2)), g: graph.New(1), typ: dtype.F32}
		x, b := n.input([]int{200, 30}), n.input([]int{200, 1})
		for _, err := range []error{
			n.apply("element_unary", `{"op_type": "TANH"}`, x),
			n.apply("element_binary", fmt.Sprintf(`{"type": %q}`, f), n.tensors[2], b),
			n.apply("element_unary", `{"op_type": "SIGMOID"}`, n.tensors[3]),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.judge(catalogue.Register, 1); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
