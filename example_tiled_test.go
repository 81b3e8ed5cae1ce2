package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// The rows of a batch pass two layers in tiles. Results are those of whole tasks.
func ExampleTiled() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 1024, 32)
	h := linear.Apply(g, linear.Defaults(64).WithActivation(activation.Relu), x)
	y := linear.Apply(g, linear.Defaults(16), h)
	in := make([]float32, 1024*32)
	for i := range in {
		in[i] = float32(i%9) - 4
	}
	run := func(options ...opgen.Option) (out []float32, tasks int, err error) {
		ctx := context.Background()
		err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			program, err := graph.Inference(g, y)
			if err != nil {
				return err
			}
			p, err := s.Load(ctx, program)
			if err != nil {
				return err
			}
			if err := p.Run(ctx, opgen.With(x, in)); err != nil {
				return err
			}
			tasks = len(p.Plan().Tasks)
			out, err = opgen.Fetch[float32](p, y)
			return err
		}, options...)
		return out, tasks, err
	}
	whole, few, err := run()
	if err != nil {
		fmt.Println(err)
		return
	}
	tiled, many, err := run(opgen.Tiled(), opgen.Workers(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	same := 0
	for i := range whole {
		if whole[i] == tiled[i] {
			same++
		}
	}
	fmt.Println(same, "of", len(whole), "elements are the same, by more tasks:", many > few)
	// Output: 16384 of 16384 elements are the same, by more tasks: true
}
