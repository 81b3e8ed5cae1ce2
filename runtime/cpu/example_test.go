package cpu_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// A session runs programs on three workers of this machine. With any other number, results have the same
// bits.
func Example() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		x := g.Input("x", dtype.F32, 2, 2)
		y := softmax.Apply(g, softmax.Defaults(), x)
		p, err := s.Inference(ctx, g, y)
		if err != nil {
			return err
		}
		if err := p.Run(ctx, opgen.With(x, []float32{1, 1, 0, 2})); err != nil {
			return err
		}
		out, err := opgen.Fetch[float32](p, y)
		fmt.Printf("%.3f\n", out)
		return err
	}, opgen.Backend(cpu.New(cpu.Config{Workers: 3})))
	if err != nil {
		fmt.Println(err)
	}
	// Output: [0.500 0.500 0.119 0.881]
}
