package kernels_test

import (
	"context"
	"math"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/nonfinite"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestNonfinite gives nonfinite infinite values and NaN.
func TestNonfinite(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", dtype.F64, 3)
		found := nonfinite.Apply(g, nonfinite.Defaults(), x)
		p, err := s.Inference(context.Background(), g, found)
		if err != nil {
			return err
		}
		for _, tt := range []struct {
			in   []float64
			want bool
		}{{[]float64{1, -2, 0}, false}, {[]float64{1, inf, 0}, true}, {[]float64{-inf, 1, 0}, true}, {[]float64{1, 2, nan}, true}} {
			if err := p.Run(context.Background(), opgen.With(x, tt.in)); err != nil {
				return err
			}
			got, err := opgen.Fetch[bool](p, found)
			if err != nil {
				return err
			}
			if got[0] != tt.want {
				t.Errorf("%v: got %v, want %v", tt.in, got[0], tt.want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
