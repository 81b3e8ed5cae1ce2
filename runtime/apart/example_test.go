package apart_test

import (
	"fmt"

	_ "github.com/opgen/opgen/formula" // finds tiles
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/apart"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// The gradients of the second layer's input and of its weight go over different rows: each has a task of its
// own. That of the first layer has no gradient of the input.
func ExampleProgram() {
	g := graph.New(1)
	h := linear.Apply(g, linear.Defaults(256), g.Input("x", dtype.F32, 64, 256))
	h = linear.Apply(g, linear.Defaults(256), h)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(h), mse.Label(g.Input("label", dtype.F32, 64, 256)))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range apart.Program(p).Steps {
		if s.Phase == graph.Backward && s.Invocation != nil {
			fmt.Println(s.Invocation.Node.Name)
		}
	}
	// Output:
	// mean_squared_error
	// linear_1
	// linear_1
	// linear
}
