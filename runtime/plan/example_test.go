package plan_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
)

// A plan is data. It can be stored and read again, and says what runs and how much memory it takes.
func Example() {
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
	data, err := p.EncodeBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	if p, err = plan.Decode(data); err != nil {
		fmt.Println(err)
		return
	}
	for i := range p.Tasks {
		fmt.Println(p.Label(i), p.Tasks[i].Over)
	}
	fmt.Println(p.ArenaBytes >= p.LowerBound())
	// Output:
	// first: softmax.forward 4
	// second: softmax.forward 2
	// true
}
