package planner_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/schedule"
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
	// hidden: linear.forward 12
	// true <nil>
}

// Tasks are divided among workers by estimated times, or by those that were measured: here, the second of
// three takes as long as the others together.
func ExampleTimes() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 1, 2)
	var fetched []graph.Tensor
	for _, name := range []string{"one", "two", "three"} {
		fetched = append(fetched, linear.Apply(g, linear.Defaults(3).WithUseBias(false), x, graph.Named(name)))
	}
	prog, err := graph.Inference(g, fetched...)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := planner.Build(prog)
	if err != nil {
		fmt.Println(err)
		return
	}
	if p, err = planner.Reschedule(p, planner.Workers(2), planner.Times([]float64{1e6, 2e6, 1e6})); err != nil {
		fmt.Println(err)
		return
	}
	for w, queue := range p.Schedule.Queues {
		for _, entry := range queue {
			if kind, task := entry.Decode(); kind == schedule.Run {
				fmt.Println(w, p.Label(task))
			}
		}
	}
	// Output:
	// 0 one: linear.forward
	// 0 three: linear.forward
	// 1 two: linear.forward
}
