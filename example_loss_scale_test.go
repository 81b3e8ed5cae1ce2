package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adjustscale"
	"github.com/opgen/opgen/generated/cast"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/nonfinite"
	"github.com/opgen/opgen/generated/scaleloss"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// scaled returns an optimizer for gradients of a loss that a node of scale_loss has scaled. A step in which a
// gradient is not finite changes no weight, and makes the factor smaller.
func scaled(loss graph.Tensor, attrs sgd.Attrs) graph.Optimizer {
	return func(g *graph.Graph, weights, grads []graph.Tensor) {
		factor := loss.Node().Tensor(int(scaleloss.SlotScale))
		var found graph.Tensor
		for i, grad := range grads {
			var before []graph.Option
			if i > 0 {
				before = append(before, graph.With(nonfinite.SlotBefore, found))
			}
			found = nonfinite.Apply(g, nonfinite.Defaults(), grad, before...)
		}
		sgd.Optimizer(attrs, graph.With(sgd.SlotLossScale, factor), graph.With(sgd.SlotSkip, found))(g, weights, grads)
		adjustscale.Apply(g, adjustscale.Defaults(), found, graph.Weight(adjustscale.SlotScale, factor))
	}
}

// The gradients of this layer are less than the least number of 16 bits. The loss is computed in 32 bits, and
// multiplied by 2^16.
func Example_lossScale() {
	register := opgen.Formulas(cast.Operator, linear.Operator, mse.Operator, sgd.Operator, scaleloss.Operator, adjustscale.Operator, nonfinite.Operator)
	err := opgen.Do(register, func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		x, y := g.Input("x", dtype.F32, 2, 1), g.Input("y", dtype.F32, 2, 1)
		half := cast.Apply(g, cast.Defaults(dtype.F16), x)
		z := linear.Apply(g, linear.Defaults(1).WithUseBias(false), half)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(cast.Apply(g, cast.Defaults(dtype.F32), z)), mse.Label(y))
		large := scaleloss.Apply(g, scaleloss.Defaults(), loss)
		step, err := s.Training(ctx, g, large, scaled(large, sgd.Defaults(2e7)), loss)
		if err != nil {
			return err
		}
		for range 60 {
			if err := step.Run(ctx, opgen.With(x, []float32{1e-4, -1e-4}), opgen.With(y, []float32{2e-4, -2e-4})); err != nil {
				return err
			}
		}
		last, err := opgen.Fetch[float32](step, loss)
		if err == nil {
			fmt.Println(last[0] < 1e-12)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	} // Output: true
}
