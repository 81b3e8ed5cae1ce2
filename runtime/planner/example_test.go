package planner_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// A plan is data: it can be verified, written, read and compared.
func Example() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4, 2)
	y := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x, graph.Named("hidden"))
	prog, err := graph.Inference(g, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := planner.Build(prog, planner.Workers(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := verify.Plan(p); err != nil {
		fmt.Println(err)
		return
	}
	data, err := p.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := plan.Decode(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range q.Tasks {
		fmt.Println(q.Label(i), q.Tasks[i].Over)
	}
	first, err := p.Hash()
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := q.Hash()
	fmt.Println(first == second, err)
	// Output:
	// hidden: linear.forward 4
	// true <nil>
}
