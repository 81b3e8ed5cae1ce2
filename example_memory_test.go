package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// An input and a fetched tensor live in slices of the program, which runs read and write without a copy.
func ExampleIn() {
	g := graph.New(1)
	scores := g.Input("scores", dtype.F32, 1, 4)
	shares := softmax.Apply(g, softmax.Defaults(), scores)
	err := opgen.Do(opgen.Formulas(softmax.Operator), func(s *opgen.Session) error {
		program, err := graph.Inference(g, shares)
		if err != nil {
			return err
		}
		in, out := opgen.Aligned[float32](4), opgen.Aligned[float32](4)
		p, err := s.Load(context.Background(), program, opgen.In(scores, in), opgen.In(shares, out))
		if err != nil {
			return err
		}
		in[3] = 20
		if err := p.Run(context.Background()); err != nil {
			return err
		}
		fmt.Printf("%.2f\n", out)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// [0.00 0.00 0.00 1.00]
}
