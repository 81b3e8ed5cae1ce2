package formula

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// TestDigitsOfAngles computes large values that depend on indices only, such as the angles of position
// encodings. They keep the precision of float64 until they are combined with elements of tensors: for all
// extents, although loops compute functions of indices beforehand, and also in intermediate tensors.
func TestDigitsOfAngles(t *testing.T) {
	frequency := func(k, n int) float64 { return math.Pow(10000, -float64(k)/float64(n)) }
	for _, c := range []struct {
		text string
		want func(x, w []float64, j []int, n, k, cols int) float64
	}{
		{"y[n, k] = x[n, k] * cos((n + 1000000) * 10000 ^ (-k / K))",
			func(x, _ []float64, _ []int, n, k, cols int) float64 {
				return x[k] * math.Cos(float64(n+1000000)*frequency(k, cols))
			}},
		{"y[n, k] = x[n, k] * cos(j[n] * 10000 ^ (-k / K)) + w[n, k] * sin(j[n] * 10000 ^ (-k / K))",
			func(x, w []float64, j []int, n, k, cols int) float64 {
				a := float64(j[n]) * frequency(k, cols)
				return x[k]*math.Cos(a) + w[k]*math.Sin(a)
			}},
		{"a[n, k] = j[n] * 10000 ^ (-k / K)\ny[n, k] = x[n, k] * cos(a[n, k])",
			func(x, _ []float64, j []int, n, k, cols int) float64 {
				return x[k] * math.Cos(float64(j[n])*frequency(k, cols))
			}},
		{"a[n, k] = (k < 2 ? j[n] * 10000 ^ (-k / K) : j[n] / (k + 1))\ny[n, k] = x[n, k] * cos(a[n, k]) - w[n, k] * sin(a[n, k])",
			func(x, w []float64, j []int, n, k, cols int) float64 {
				a := float64(j[n]) * frequency(k, cols)
				if k >= 2 {
					a = float64(j[n]) / float64(k+1)
				}
				return x[k]*math.Cos(a) - w[k]*math.Sin(a)
			}},
		{"a[n, k] = j[n] / (k + 1)\ny[n, k] = x[n, k] * cos(a[n, k]) - w[n, k] * sin(a[n, k])", // a needs one rounding
			func(x, w []float64, j []int, n, k, _ int) float64 {
				a := float64(j[n]) / float64(k+1)
				return x[k]*math.Cos(a) - w[k]*math.Sin(a)
			}},
		{"y[n, k] = x[n, k] + tanh(sin(k + 1000000.3) * 0.7)",
			func(x, _ []float64, _ []int, _, k, _ int) float64 {
				return x[k] + math.Tanh(math.Sin(float64(k)+1000000.3)*0.7)
			}},
		{"y[n, k] = x[n, k] * (k + 0.1 - 1e6 * n - 100000.1)",
			func(x, _ []float64, _ []int, n, k, _ int) float64 {
				return x[k] * (float64(k) + 0.1 - 1e6*float64(n) - 100000.1)
			}},
	} {
		for _, size := range [][2]int{{1, 5}, {4, 1}, {3, 7}, {20, 30}, {50, 130}, {3, 2500}} {
			rows, cols := size[0], size[1]
			given := map[string][]float64{"grad.y": nil}
			j := make([]int, rows)
			for n := range rows {
				j[n] = 1000000 + 97*n
				given["j"] = append(given["j"], float64(j[n]))
				for k := range cols {
					given["x"] = append(given["x"], float64(float32(1+0.01*float64(k%17))))
					given["w"] = append(given["w"], float64(float32(0.5+0.02*float64(k%11))))
					given["grad.y"] = append(given["grad.y"], 1)
				}
			}
			got := computed(t, c.text, dtype.F32, rows, cols, given)["y"]
			for n := range rows {
				x, w := given["x"][n*cols:(n+1)*cols], given["w"][n*cols:(n+1)*cols]
				for k := range cols {
					want := c.want(x, w, j, n, k, cols)
					if d := math.Abs(got[n*cols+k] - want); !(d <= 3e-7*max(1, math.Abs(want))) {
						t.Errorf("%s of %v, element %d, %d: got %v, want %v", c.text, size, n, k, got[n*cols+k], want)
						n = rows
						break
					}
				}
			}
		}
	}
}
