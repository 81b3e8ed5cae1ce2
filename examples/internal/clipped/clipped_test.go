package clipped_test

import (
	"math"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/clipped"
	"github.com/opgen/opgen/generated/clipbynorm"
	"github.com/opgen/opgen/generated/elementnary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/sumofsquares"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestGradients scales tensors of different ranks by the norm of both.
func TestGradients(t *testing.T) {
	t.Parallel()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tt := range []struct {
		limit  float64
		x, y   []float32
		norm   float64
		factor float64 // NaN for none: all elements are NaN
	}{
		{20, []float32{3, 4}, []float32{12}, 13, 1},
		{13, []float32{3, 4}, []float32{12}, 13, 1},
		{6.5, []float32{3, 4}, []float32{12}, 13, 0.5},
		{0, []float32{3, 4}, []float32{12}, 13, 0},
		{0, []float32{0, 0}, []float32{0}, 0, 1},
		{1, []float32{1e-30, 0}, []float32{0}, 0, 1}, // the square is too small for f32
		{1, []float32{3e18, 0}, []float32{4e18}, 5e18, 1 / 5e18},
		{1, []float32{3e30, 0}, []float32{4}, math.Inf(1), 0}, // the square is too large for f32
		{1, []float32{3, 4}, []float32{nan}, math.NaN(), math.NaN()},
		{1, []float32{inf, inf}, []float32{inf}, math.Inf(1), math.NaN()},
	} {
		err := opgen.Do(opgen.Formulas(sumofsquares.Operator, elementnary.Operator, elementunary.Operator, clipbynorm.Operator), func(s *opgen.Session) error {
			g := graph.New(1)
			x, y := g.Input("x", dtype.F32, 2), g.Input("y", dtype.F32, 1, 1)
			out, norm := clipped.Gradients(g, tt.limit, []graph.Tensor{x, y})
			p, err := s.Inference(t.Context(), g, out[0], out[1], norm)
			if err != nil {
				return err
			}
			if err := p.Run(t.Context(), opgen.With(x, tt.x), opgen.With(y, tt.y)); err != nil {
				return err
			}
			n, err := opgen.Fetch[float64](p, norm)
			if err != nil {
				return err
			}
			if !near(n[0], tt.norm) {
				t.Errorf("limit %v of %v and %v: the norm is %v, want %v", tt.limit, tt.x, tt.y, n[0], tt.norm)
			}
			for i, given := range [][]float32{tt.x, tt.y} {
				got, err := opgen.Fetch[float32](p, out[i])
				if err != nil {
					return err
				}
				for k := range got {
					if want := tt.factor * float64(given[k]); !near(float64(got[k]), want) {
						t.Errorf("limit %v of %v and %v: tensor %d is %v, want %v for %v", tt.limit, tt.x, tt.y, i, got, want, given[k])
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// near reports whether a number is what is wanted, but for the rounding of f32.
func near(got, want float64) bool {
	return got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= 1e-6*math.Abs(want)
}
