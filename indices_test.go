package opgen_test

import (
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/gather"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestCheckIndices gives a program an index that the operator's spec does not allow. With the option, the run
// is refused before it begins; right indices pass.
func TestCheckIndices(t *testing.T) {
	t.Parallel()
	for _, option := range []bool{false, true} {
		var opts []opgen.Option
		if option {
			opts = append(opts, opgen.CheckIndices())
		}
		s, err := opgen.Open(catalogue.Register, opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		g := graph.New(1)
		x, index := g.Input("x", dtype.F32, 2, 3), g.Input("index", dtype.I64, 2, 2)
		y := gather.Apply(g, gather.Defaults(1), gather.Input(x), gather.Index(index))
		p, err := s.Inference(t.Context(), g, y)
		if err != nil {
			t.Fatal(err)
		}
		run := func(indices ...int64) error {
			return p.Run(t.Context(), opgen.With(x, []float32{1, 2, 3, 4, 5, 6}), opgen.With(index, indices))
		}
		if err := run(0, 2, 1, 1); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []int64{-1, 3} {
			err := run(0, 2, wrong, 1)
			if option {
				wantError(t, err, "plan inference, gather: operator gather, task forward, slot index, element [1, 0]: want an index from 0 to 2, got "+
					map[int64]string{-1: "-1", 3: "3"}[wrong])
			}
			if err == nil {
				t.Errorf("index %d: got no error, want one of the kernel at least", wrong)
			}
		}
	}
}
