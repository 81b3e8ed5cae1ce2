package kernels_test

import (
	"math"
	"testing"

	clip "github.com/opgen/opgen/generated/clipbyglobalnorm"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestClipByGlobalNorm scales two tensors with the norm 13: one holds 3 and 4, the other 12.
func TestClipByGlobalNorm(t *testing.T) {
	for _, limit := range []float64{0, 6.5, 13, 20} {
		g := graph.New(1)
		x, y := g.Input("x", dtype.F64, 2), g.Input("y", dtype.F64, 1, 1)
		out := clip.Apply(g, clip.Defaults(limit), []graph.Tensor{x, y})
		p, err := graph.Whole(g, out.Output[0], out.Output[1], out.Norm)
		if err != nil {
			t.Fatal(err)
		}
		v := mustRun(t, p, values{"x": {3, 4}, "y": {12}}, optest.Execution{})
		factor := min(1, limit/13)
		for name, want := range map[string][]float64{
			out.Norm.Name(): {13}, out.Output[0].Name(): {3 * factor, 4 * factor}, out.Output[1].Name(): {12 * factor},
		} {
			for i, w := range want {
				if got := v[name][i]; !(math.Abs(got-w) <= 1e-14) {
					t.Errorf("limit %v, %s: got %v, want %v", limit, name, v[name], want)
				}
			}
		}
	}
}
