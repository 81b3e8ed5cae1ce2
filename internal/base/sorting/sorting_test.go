package sorting

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// stable is the order of keys by a stable sort.
func stable[K Key](keys []K, descending bool) []int64 {
	out := make([]int64, len(keys))
	for i := range out {
		out[i] = int64(i)
	}
	compare := func(i, j int64) int {
		x, y := keys[i], keys[j]
		switch {
		case x != x && y != y:
			return 0
		case x != x:
			return 1
		case y != y:
			return -1
		case x == y:
			return 0
		}
		return cmp.Compare(x, y)
	}
	slices.SortStableFunc(out, func(i, j int64) int {
		if descending {
			return compare(j, i)
		}
		return compare(i, j)
	})
	return out
}

// TestFirst compares orders, and their beginnings, with a stable sort: of equal numbers, of both zeros, of
// infinities and of NaN.
func TestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1, -1, 1e-310, -1e-310, math.MaxFloat64}
	for _, n := range []int{0, 1, 2, 3, 10, 100, 1000} {
		var x []float64
		for range n {
			if random.IntN(3) == 0 {
				x = append(x, special[random.IntN(len(special))])
			} else {
				x = append(x, float64(random.IntN(20)-10)/4)
			}
		}
		rising := slices.Clone(x)
		slices.Sort(rising)
		for _, k := range []int{0, 1, 2, 7, n / 2, n} {
			if k > n {
				continue
			}
			t.Run(fmt.Sprint(n, k), func(t *testing.T) {
				for _, keys := range [][]float64{x, rising} {
					first[float64](t, keys, k)
					first[float32](t, keys, k)
				}
				var whole []float64
				for i := range x {
					whole = append(whole, float64(random.IntN(9)-4+i%2*math.MaxInt32/2))
				}
				first[int32](t, whole, k)
				first[int64](t, whole, k)
				first[int](t, whole, k)
			})
		}
	}
}

func first[K Key](t *testing.T, values []float64, k int) {
	t.Helper()
	keys := make([]K, len(values))
	for i, v := range values {
		keys[i] = K(v)
	}
	for _, descending := range []bool{false, true} {
		got := make([]int64, k)
		First(got, keys, descending)
		if want := stable(keys, descending)[:k]; !slices.Equal(got, want) {
			t.Errorf("%T, descending %v: got %v, want %v", keys, descending, got, want)
		}
	}
}

func BenchmarkFirst(b *testing.B) {
	keys := make([]float32, 1024)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range keys {
		keys[i] = random.Float32()
	}
	for _, k := range []int{8, 64, 1024} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			to := make([]int64, k)
			b.ReportAllocs()
			for b.Loop() {
				First(to, keys, true)
			}
		})
	}
}
