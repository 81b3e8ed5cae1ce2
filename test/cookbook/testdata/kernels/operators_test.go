package kernels_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	own "example.com/cookbook/generated/catalogue"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/optest"
)

// TestOperators runs all checks. Offsets of bags grow. Operators without a formula and without a gradient are compared with Go.
func TestOperators(t *testing.T) {
	optest.All(t, own.Register, own.Operators(), optest.Register(catalogue.Register),
		optest.Values("bag", "offsets", func(r *rand.Rand, x optest.Input) []float64 {
			offsets := make([]float64, x.Shape[0])
			for i := range offsets {
				offsets[i] = float64(r.IntN(x.Below))
			}
			slices.Sort(offsets)
			return offsets
		}),
		optest.Reference("positive", func(c optest.Call) map[string][]float64 {
			var at []float64
			for i, x := range c.Tensors["input"] {
				if x > 0 {
					at = append(at, float64(i))
				}
			}
			return map[string][]float64{"output": at, "number": {float64(len(at))}}
		}),
		optest.Reference("distinct", func(c optest.Call) map[string][]float64 {
			var values []float64
			for _, x := range c.Tensors["input"] {
				if !slices.Contains(values, x) {
					values = append(values, x)
				}
			}
			return map[string][]float64{"output": values, "number": {float64(len(values))}}
		}),
		optest.Skip("Costs", "bag", "a cost meter draws offsets that do not grow"))
}
