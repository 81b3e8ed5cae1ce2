package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// Two nodes share a weight: both apply the same matrix, once after the other, and the gradient is the sum of
// both.
func Example_sharedWeight() {
	train := func(s *opgen.Session) error {
		g := graph.New(1)
		x, y := g.Input("x", dtype.F32, 1, 1), g.Input("y", dtype.F32, 1, 1)
		first := linear.Apply(g, noBias(1), x, graph.Named("first"))
		weight := first.Node().Tensor(int(linear.SlotWeight))
		second := linear.Apply(g, noBias(1), first, graph.Named("second"), graph.Weight(linear.SlotWeight, weight))
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(second), mse.Label(y))
		step, err := s.Training(context.Background(), g, loss, sgd.Optimizer(sgd.Defaults(0.01)), weight)
		if err != nil {
			return err
		}
		for range 500 {
			if err := step.Run(context.Background(), opgen.With(x, []float32{1}), opgen.With(y, []float32{9})); err != nil {
				return err
			}
		}
		w, err := opgen.Fetch[float32](step, weight)
		if err == nil {
			fmt.Printf("%.2f * %.2f = 9\n", w[0]*sign(w[0]), w[0]*sign(w[0]))
		}
		return err
	}
	if err := opgen.Do(catalogue.Register, train); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3.00 * 3.00 = 9
}

// sign returns the sign of the solution that the first value of the weight leads to.
func sign(w float32) float32 {
	if w < 0 {
		return -1
	}
	return 1
}
