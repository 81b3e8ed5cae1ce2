package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// A gradient is a tensor of the graph: its product with a vector has a gradient, too, which is that of the
// Hessian and the vector. For f(x) = x^3, these are 3*x^2 and 6*x*v.
func Example_gradients() {
	multiply := func(s *opgen.Session) error {
		g := graph.New(1)
		x, v := g.Input("x", dtype.F32, 2), g.Input("v", dtype.F32, 2)
		f := elementunary.Pow(g, x, 3)
		first := g.Gradients(f, x)[0]
		second := g.Gradients(elementbinary.Mul(g, first, v), x)[0]
		third := g.GradientsFrom(map[graph.Tensor]graph.Tensor{first: v}, x)[0] // the same without a node for the product
		p, err := s.Inference(context.Background(), g, first, second, third)
		if err != nil {
			return err
		}
		if err := p.Run(context.Background(), opgen.With(x, []float32{1, 2}), opgen.With(v, []float32{1, 10})); err != nil {
			return err
		}
		for _, t := range []graph.Tensor{first, second, third} {
			got, err := opgen.Fetch[float32](p, t)
			if err != nil {
				return err
			}
			fmt.Println(got)
		}
		return nil
	}
	if err := opgen.Do(opgen.Formulas(elementunary.Operator, elementbinary.Operator), multiply); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [3 12]
	// [6 120]
	// [6 120]
}
