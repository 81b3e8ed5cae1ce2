package cost_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// The cost of an operator is measured on a copy of its node.
func Example() {
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		fmt.Println(err)
		return
	}
	g := graph.New(1)
	y := linear.Apply(g, linear.Defaults(3).WithUseBias(false), g.Input("x", dtype.F32, 4, 2))
	m, err := cost.NewMeter(&registry, cost.Config{Workers: 1, Runs: 3}).MeasureCost(context.Background(), y.Node())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Memory.Inputs, m.Memory.Weights, m.Memory.Outputs, m.Forward.Time.Runs, m.Forward.Flops)
	// Output: 32 24 48 3 48
}
