package stats

import (
	"math"
	"testing"

	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

func TestStatistics(t *testing.T) {
	// Columns of a matrix: 1, 3, 5 and values with a mean that is large compared with their variance.
	x := tensortest.RO([]float32{1, 16777214, 3, 16777216, 5, 16777212}, 3, 2)
	tests := []struct{ sum, product, mean, variance, square float64 }{
		{9, 15, 3, 8. / 3, 35. / 3},
		{3 * 16777214, 16777214. * 16777216 * 16777212, 16777214, 8. / 3, (16777214.*16777214 + 16777216.*16777216 + 16777212.*16777212) / 3},
	}
	g := index.NewGroups([]int{3, 2}, []int{0}, 0)
	for i, tt := range tests {
		product := Fold(x, g, 1, func(a float64, b float32) float64 { return a * float64(b) })
		mean, variance := Moments(x, g)
		for name, v := range map[string][2]float64{
			"sum": {Sum(x, g), tt.sum}, "product": {product, tt.product}, "mean": {mean, tt.mean},
			"variance": {variance, tt.variance}, "mean square": {MeanSquare(x, g), tt.square},
		} {
			if math.Abs(v[0]-v[1]) > 1e-14*math.Abs(v[1]) {
				t.Errorf("column %d: %s %v, want %v", i, name, v[0], v[1])
			}
		}
		g.Next()
	}
}
