package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/nonzero"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// Values decide how many rows of an output count. Shape gives their number after a run, and Fetch their
// elements.
func ExampleProgram_Shape() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		x := g.Input("x", dtype.F32, 5)
		out := nonzero.Apply(g, nonzero.Defaults(), x)
		p, err := s.Inference(ctx, g, out.Output, out.Number)
		if err != nil {
			return err
		}
		if err := p.Run(ctx, opgen.With(x, []float32{0, 3, 0, 0, 7})); err != nil {
			return err
		}
		shape, err := p.Shape(out.Output)
		if err != nil {
			return err
		}
		places, err := opgen.Fetch[int64](p, out.Output)
		fmt.Println(shape, places)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [2 1] [1 4]
}

// CheckIndices finds an index that is no row of the weight.
func ExampleCheckIndices() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		words := g.Input("words", dtype.I64, 3)
		p, err := s.Inference(ctx, g, embedding.Apply(g, embedding.Defaults(10, 4), words, graph.Named("table")))
		if err != nil {
			return err
		}
		return p.Run(ctx, opgen.With(words, []int64{2, 11, 5}))
	}, opgen.CheckIndices())
	fmt.Println(err)
	// Output: plan inference, table: operator embedding, task forward, slot input, element [1]: want an index from 0 to 9, got 11
}
