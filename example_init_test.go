package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/constant"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// A weight begins as its operator's spec says, unless the graph names another initializer.
func Example_initializer() {
	err := opgen.Do(opgen.Formulas(linear.Operator, constant.Operator), func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		x := g.Input("x", dtype.F32, 1, 3)
		half := graph.Init(linear.SlotWeight, constant.Operator, constant.Defaults(0.5))
		y := linear.Apply(g, linear.Defaults(2).WithUseBias(false), x, half)
		p, err := s.Inference(ctx, g, y)
		if err != nil {
			return err
		}
		if err := p.Run(ctx, opgen.With(x, []float32{1, 2, 3})); err != nil {
			return err
		}
		answers, err := opgen.Fetch[float32](p, y)
		if err == nil {
			fmt.Println(answers)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	} // Output: [3 3]
}
