package validate_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/planner"
)

// A plan in which a task runs over fewer indices does not compute what its program says.
func ExamplePlan() {
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
	fmt.Println(validate.Plan(p, program))
	p.Tasks[1].Over--
	fmt.Println(validate.Plan(p, program))
	// Output:
	// <nil>
	// plan inference, second: softmax.forward: want a step over 2 by 2, elementwise: false, got 1 by 2, false
}
