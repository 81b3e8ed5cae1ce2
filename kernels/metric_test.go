package kernels_test

import (
	"math"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	metric "github.com/opgen/opgen/generated/sparsecategoricalcrossentropymetric"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestMetricOfLargeNumbers computes cross entropies of large logits. Loops compute the logarithm of the
// label's probability only, and subtract from logits with all digits of the logarithm of the sum: each row's
// error is that of one rounding, where one logit times the precision of float32 is far from 0.
func TestMetricOfLargeNumbers(t *testing.T) {
	t.Parallel()
	for _, k := range []int{3, 40, 700} {
		const rows = 50
		x, label := make([]float32, rows*k), make([]int32, rows)
		want, most := 0., 0.
		for n := range rows {
			top, sum := math.Inf(-1), 0.
			row := x[n*k:][:k]
			for i := range row {
				row[i] = 3000 + float32(math.Sin(float64(n*k+i)))
				top = max(top, float64(row[i]))
			}
			for _, v := range row {
				sum += math.Exp(float64(v) - top)
			}
			label[n] = int32(n * 7 % k)
			loss := top + math.Log(sum) - float64(row[label[n]])
			want += loss
			most += 0x1p-22 * (1 + loss)
		}
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			g := graph.New(1)
			logit, labels := g.Input("logit", dtype.F32, rows, k), g.Input("label", dtype.I32, rows, 1)
			total := metric.Apply(g, metric.Defaults().WithFromLogits(true), metric.Logit(logit), metric.Label(labels))
			p, err := s.Inference(t.Context(), g, total)
			if err != nil {
				return err
			}
			if err := p.Run(t.Context(), opgen.With(logit, x), opgen.With(labels, label)); err != nil {
				return err
			}
			got, err := opgen.Fetch[float32](p, total)
			if err == nil && !(math.Abs(float64(got[0])-want) <= most+0x1p-23*want) {
				t.Errorf("%d classes: want %v within %v, got %v", k, want, most, got[0])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
