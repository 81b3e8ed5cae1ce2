package checked_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// A program with an index that is out of bounds runs on the backend that checks kernels. The error says which
// rule is broken, and where.
func Example() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		x := g.Input("words", dtype.I64, 3)
		p, err := s.Inference(ctx, g, embedding.Apply(g, embedding.Defaults(5, 2), x, graph.Named("table")))
		if err != nil {
			return err
		}
		return p.Run(ctx, opgen.With(x, []int64{0, 4, 5}))
	}, opgen.Backend(checked.New(cpu.Config{})))
	var e *checked.Error
	if errors.As(err, &e) {
		fmt.Println(e.Rule, e.Node, e.Slot, e.Index)
		fmt.Println("want", e.Want+", got", e.Got)
	}
	// Output:
	// below table input [2]
	// want an index from 0 to 4, got 5
}
