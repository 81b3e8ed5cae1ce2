package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	return tensor.MakeRO(unlock.Key{}, d, []int{len(d)})
}

func rw(d []float64) tensor.RW[float64] {
	return tensor.MakeRW(unlock.Key{}, d, []int{len(d)})
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

func TestAffine(t *testing.T) {
	mat := func(rows, cols int, data ...float64) tensor.ROMat[float64] {
		return tensor.MakeRO(unlock.Key{}, data, []int{rows, cols}).Mat(0, rows, cols)
	}
	a, b := mat(2, 2, 1, 2, 3, 4), mat(2, 2, 1, 0, 1, 1)
	bias := tensor.MakeRO(unlock.Key{}, []float64{10, 20}, []int{2}).Lane(0)
	for _, tt := range []struct {
		bias tensor.Opt[tensor.ROLane[float64]]
		want []float64
	}{
		{tensor.Opt[tensor.ROLane[float64]]{}, []float64{9, 3, 2, 9, 7, 4}},
		{tensor.Some(bias), []float64{9, 13, 22, 9, 17, 24}},
	} {
		got := []float64{9, 9, 9, 9, 9, 9} // the product goes into the last two of three columns
		Affine(tensor.MakeRW(unlock.Key{}, got, []int{2, 3}).Out(0, 2, 3, tensor.Store).ColRange(1, 3), a, b, tt.bias)
		if !slices.Equal(got, tt.want) {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
}

func TestGemmSum(t *testing.T) {
	data := tensor.MakeRO(unlock.Key{}, []float64{1, 2, 3, 4, 5, 6}, []int{6})
	for n, want := range [][]float64{{0, 0}, {1, 2}, {1 + 9, 2 + 12}, {1 + 9 + 25, 2 + 12 + 30}} {
		for mode, before := range map[tensor.Mode]float64{tensor.Store: 0, tensor.Accumulate: 100} {
			got := []float64{100, 100}
			GemmSum(tensor.MakeRW(unlock.Key{}, got, []int{1, 2}).Out(0, 1, 2, mode), n, func(i int) (a, b tensor.ROMat[float64]) {
				return data.Mat(2*i, 1, 1), data.Mat(2*i, 1, 2)
			})
			if got[0] != before+want[0] || got[1] != before+want[1] {
				t.Errorf("%d products, mode %d: got %v, want %v more than %v", n, mode, got, want, before)
			}
		}
	}
}
