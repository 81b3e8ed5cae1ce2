package draw_test

import (
	"fmt"
	"os"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/planner"
)

// The graph of a plan's tasks, in the language of Graphviz.
func ExampleDOT() {
	g := graph.New(1)
	h := softmax.Apply(g, softmax.Defaults(), g.Input("x", dtype.F32, 4, 2), graph.Named("first"))
	program, err := graph.Inference(g, softmax.Apply(g, softmax.Defaults().WithDim(0), h, graph.Named("second")))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := planner.Build(program, planner.Workers(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := draw.DOT(os.Stdout, p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// digraph "inference" {
	//   node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, color="#888888"];
	//   edge [fontname="Helvetica", fontsize=9, color="#666666", fontcolor="#666666"];
	//   t0 [label="first: softmax.forward\nranges: 1", fillcolor="#dbe9f6"];
	//   t1 [label="second: softmax.forward\nranges: 1", fillcolor="#dbe9f6"];
	//   t0 -> t1 [label="first.output f32[4, 2]"];
	// }
}
