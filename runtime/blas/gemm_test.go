package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

func random(r *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = r.NormFloat64()
	}
	return s
}

func ro(d []float64) tensor.RO[float64] {
	return tensor.MakeRO(unlock.Seal(d), []int{len(d)})
}

func rw(d []float64) tensor.RW[float64] {
	return tensor.MakeRW(unlock.Seal(d), []int{len(d)})
}

func TestGemm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []struct{ m, n, k int }{{1, 1, 1}, {3, 5, 7}, {64, 192, 10}, {65, 193, 33}, {130, 400, 3}, {4, 4, 0}, {0, 3, 2}, {3, 0, 2}}
	for _, sz := range sizes {
		for variant := range 8 {
			t.Run(fmt.Sprintf("%dx%dx%d/%d", sz.m, sz.n, sz.k, variant), func(t *testing.T) {
				at, bt, add := variant&1 != 0, variant&2 != 0, variant&4 != 0
				ad, bd, cd := random(r, sz.m*sz.k), random(r, sz.k*sz.n), random(r, sz.m*sz.n)
				a, b := ro(ad).Mat(0, sz.m, sz.k), ro(bd).Mat(0, sz.k, sz.n)
				if at {
					a = ro(ad).Mat(0, sz.k, sz.m).T()
				}
				if bt {
					b = ro(bd).Mat(0, sz.n, sz.k).T()
				}
				want := make([]float64, len(cd))
				for i := range sz.m {
					for j := range sz.n {
						var s float64
						for l := range sz.k {
							x, y := ad[i*sz.k+l:], bd[l*sz.n+j:]
							if at {
								x = ad[l*sz.m+i:]
							}
							if bt {
								y = bd[j*sz.k+l:]
							}
							s += x[0] * y[0]
						}
						want[i*sz.n+j] = 2 * s
						if add {
							want[i*sz.n+j] += cd[i*sz.n+j]
						}
					}
				}
				mode := tensor.Store
				if add {
					mode = tensor.Accumulate
				}
				Gemm(rw(cd).Out(0, sz.m, sz.n, mode), 2, a, b)
				for i := range want {
					if math.Abs(want[i]-cd[i]) > 1e-12*(1+math.Abs(want[i])) {
						t.Fatalf("element %d: got %g, want %g", i, cd[i], want[i])
					}
				}
			})
		}
	}
}

func TestGemmPanicsOnSizes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	d := make([]float64, 12)
	Gemm(rw(d).Out(0, 2, 2, tensor.Store), 1, ro(d).Mat(0, 2, 3), ro(d).Mat(0, 2, 2))
}
