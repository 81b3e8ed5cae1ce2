package verify_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// A plan is wrong if it does not say that the second task needs what the first one writes.
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
	fmt.Println(verify.Plan(p))
	p.Deps.Pred = nil
	fmt.Println(verify.Plan(p) != nil)
	// Output:
	// <nil>
	// true
}
