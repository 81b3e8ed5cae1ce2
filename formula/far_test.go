package formula

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// TestFarIntegers compares integers of a tensor that are as far apart as integers can be with indices, and
// reads elements at places that are as far outside.
func TestFarIntegers(t *testing.T) {
	for _, c := range []struct {
		text string
		want func(k, j, cols int) float64 // what index k of the result gets, or adds
	}{
		{"s[n] = sum(k in 1 .. K if k >= j[n]: x[n, k])", func(k, j, cols int) float64 { return truth(k >= 1 && k >= j) }},
		{"s[n] = sum(k if k < j[n]: x[n, k])", func(k, j, cols int) float64 { return truth(k < j) }},
		{"y[n, k] = k == j[n] ? 0 : x[n, k]", func(k, j, cols int) float64 { return truth(k != j) }},
		{"y[n, k] = k <= j[n] ? 3 : 4", func(k, j, cols int) float64 { return 4 - truth(k <= j) }},
		{"y[n, k] = (x[n, k + j[n]] else 2)", func(k, j, cols int) float64 { return 2 - truth(0 <= k+j && k+j < cols) }},
		{"y[n, k] = (x[n, j[n] - k] else 2)", func(k, j, cols int) float64 { return 2 - truth(0 <= j-k && j-k < cols) }},
	} {
		for _, cols := range []int{1, 7, 65, 1030} {
			far := []float64{math.MinInt64, 1 - 1<<62, -3, 0, 2, 1 << 62, 1<<63 - 1024}
			given := map[string][]float64{"j": far, "grad.y": make([]float64, len(far)*cols), "grad.s": make([]float64, len(far))}
			for range len(far) * cols {
				given["x"] = append(given["x"], 1)
			}
			got := computed(t, c.text, dtype.F32, len(far), cols, given)
			for n, j := range far {
				sum := 0.0
				for k := range cols {
					want := c.want(k, int(j), cols)
					if sum += want; c.text[0] == 'y' && got["y"][n*cols+k] != want {
						t.Fatalf("%s, %d columns, k = %d, j = %v: got %v, want %v", c.text, cols, k, j, got["y"][n*cols+k], want)
					}
				}
				if c.text[0] == 's' && got["s"][n] != sum {
					t.Errorf("%s, %d columns, j = %v: got %v, want %v", c.text, cols, j, got["s"][n], sum)
				}
			}
		}
	}
}

func truth(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
