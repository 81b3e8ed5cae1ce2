package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

func train(s *opgen.Session) error {
	ctx, g := context.Background(), graph.New(1)
	x, y := g.Input("x", dtype.F32, 4, 2), g.Input("y", dtype.F32, 4, 1)
	hidden := linear.Apply(g, linear.Defaults(8).WithActivation(activation.Tanh), x)
	z := linear.Apply(g, linear.Defaults(1), hidden)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
	step, err := s.Training(ctx, g, loss, sgd.Optimizer(sgd.Defaults(0.2)), z)
	if err != nil {
		return err
	}
	inputs, labels := []float32{0, 0, 0, 1, 1, 0, 1, 1}, []float32{0, 1, 1, 0}
	for range 2000 {
		if err := step.Run(ctx, opgen.With(x, inputs), opgen.With(y, labels)); err != nil {
			return err
		}
	}
	answers, err := opgen.Fetch[float32](step, z)
	if err == nil {
		fmt.Printf("0^0, 0^1, 1^0, 1^1 = %.2f\n", answers)
	}
	return err
}

func Example() {
	if err := opgen.Do(opgen.Formulas(linear.Operator, mse.Operator, sgd.Operator), train); err != nil {
		fmt.Println(err)
	} // Output: 0^0, 0^1, 1^0, 1^1 = [0.00 1.00 1.00 0.00]
}
