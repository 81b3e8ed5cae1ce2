package simd

import (
	"math/rand/v2"
	"testing"
)

// TestRunningSums compares the bits of all sets with those of Go code, in place as well. Elements behind the
// results must not change.
func TestRunningSums(t *testing.T) {
	each(func(name string) { sums[float32](t, name); sums[float64](t, name) })
}

func sums[T Float](t *testing.T, name string) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 70 {
		x := operand[T](r, n+1)
		start := r.NormFloat64()
		want, sum := make([]T, n), start
		for i := 0; i < n; i++ {
			if i+4 <= n && i%4 == 0 {
				sum = runningSums(want[i:i+4], x[i:i+4], sum)
			} else if i >= n&^3 {
				sum += float64(x[i])
				want[i] = T(sum)
			}
		}
		for _, inPlace := range []bool{false, true} {
			in := append([]T(nil), x...)
			out := make([]T, n+1)
			if inPlace {
				out = in
			}
			behind := out[n]
			got := RunningSums(out[:n], in[:n], start)
			if !same(got, sum) {
				t.Fatalf("%s, %d elements of %T: want the sum %v, got %v", name, n, x, sum, got)
			}
			for i, v := range want {
				if !same(out[i], v) {
					t.Fatalf("%s, %d elements of %T, in place %v: element %d: want %v, got %v", name, n, x, inPlace, i, v, out[i])
				}
			}
			if !same(out[n], behind) {
				t.Fatalf("%s, %d elements of %T: the element behind them changed", name, n, x)
			}
		}
	}
}
