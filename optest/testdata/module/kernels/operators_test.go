package kernels_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/module/generated/catalogue"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/shape"
)

// TestOperators runs all checks. Offsets of bags grow, and the totals of earlier runs are not zeros.
func TestOperators(t *testing.T) {
	optest.All(t, catalogue.Register, catalogue.Operators(),
		optest.Values("bag_sum", "offsets", func(r *rand.Rand, x optest.Input) []float64 {
			offsets := make([]float64, x.Shape[0])
			for i := range offsets {
				offsets[i] = float64(r.IntN(x.Below))
			}
			slices.Sort(offsets)
			return offsets
		}),
		optest.Values("running_total", "total", func(r *rand.Rand, x optest.Input) []float64 {
			totals := make([]float64, shape.Prod(x.Shape))
			for i := range totals {
				totals[i] = float64(1 + r.IntN(9))
			}
			return totals
		}),
		optest.Reference("running_total", func(c optest.Call) map[string][]float64 {
			totals := slices.Clone(c.Tensors["total"])
			for i, x := range c.Tensors["input"] {
				totals[i] += x
			}
			return map[string][]float64{"total": totals, "output": totals}
		}),
		optest.Reference("farthest", func(c optest.Call) map[string][]float64 {
			farthest, below := 0.0, 0.0
			for _, x := range c.Tensors["input"] {
				if math.Abs(x) > math.Abs(farthest) || x == -farthest && x > 0 {
					farthest = x
				}
				if x < 0 {
					below++
				}
			}
			return map[string][]float64{"output": {farthest}, "below": {min(below, 100)}}
		}),
		optest.Reference("log_share", func(c optest.Call) map[string][]float64 {
			counts := make([]float64, c.Shapes["output"][0])
			for _, x := range c.Tensors["input"] {
				if i := int(math.Floor(x * 2)); i >= 0 && i < len(counts) {
					counts[i]++
				}
			}
			for i, n := range counts {
				counts[i] = math.Log(n / float64(len(c.Tensors["input"])))
			}
			return map[string][]float64{"output": counts}
		}),
		optest.Skip("Costs", "bag_sum", "a cost meter draws offsets that do not grow"))
}
