package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/cachedattention"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestCachedAttention gives cached_attention one token after another, and compares each result with attention
// to the tokens of the window. Two query heads share each head of keys.
func TestCachedAttention(t *testing.T) {
	const (
		steps, window           = 7, 3
		heads, keys, depth, out = 4, 2, 3, 2
	)
	g := graph.New(1)
	query, key, value := g.Input("query", dtype.F64, 1, heads, depth), g.Input("key", dtype.F64, 1, keys, depth), g.Input("value", dtype.F64, 1, keys, out)
	y := cachedattention.Apply(g, cachedattention.Defaults(keys, window), cachedattention.Query(query), cachedattention.Key(key), cachedattention.Value(value), 0)
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		p, err := s.Inference(t.Context(), g, y)
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(1, 2))
		draw := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			return v
		}
		var allKeys, allValues [][]float64
		for step := range steps {
			q, k, v := draw(heads*depth), draw(keys*depth), draw(keys*out)
			allKeys, allValues = append(allKeys, k), append(allValues, v)
			if err := p.Run(t.Context(), opgen.With(query, q), opgen.With(key, k), opgen.With(value, v), opgen.Set(y.Node(), cachedattention.SlotPosition, step)); err != nil {
				return err
			}
			got, err := opgen.Fetch[float64](p, y)
			if err != nil {
				return err
			}
			first := max(step+1-window, 0)
			for h := range heads {
				group := h * keys / heads
				var total float64
				want := make([]float64, out)
				for at := first; at <= step; at++ {
					var score float64
					for d := range depth {
						score += q[h*depth+d] * allKeys[at][group*depth+d]
					}
					e := math.Exp(score / math.Sqrt(depth))
					total += e
					for o := range out {
						want[o] += e * allValues[at][group*out+o]
					}
				}
				for o := range out {
					if d := got[h*out+o] - want[o]/total; !(math.Abs(d) <= 1e-12) {
						t.Errorf("step %d, head %d: got %v, want %v", step, h, got[h*out+o], want[o]/total)
					}
				}
			}
		}
		return nil
	}, opgen.Checked())
	if err != nil {
		t.Fatal(err)
	}
}
