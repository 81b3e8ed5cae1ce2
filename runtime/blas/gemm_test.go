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
					if !(math.Abs(want[i]-cd[i]) <= 1e-12*(1+math.Abs(want[i]))) {
						t.Fatalf("element %d: got %g, want %g", i, cd[i], want[i])
					}
				}
			})
		}
	}
}

// TestMultiplyShared multiplies ranges of rows by factors that they have in common, in two tasks and several
// runs with other elements. A result has the bits of a product of its own.
func TestMultiplyShared(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const m, n, k = 130, 1100, 300
	a, b := random(r, m*k), make([][]float64, 6)
	for run := uint64(1); run < 3; run++ {
		for i := range b {
			b[i] = random(r, n*k)
		}
		for _, rows := range []int{30, 110} {
			for lo := 0; lo < m; lo += rows {
				height := min(rows, m-lo)
				for task := range uint64(2) {
					for i := range b { // more factors than are kept
						ldb, tb := n, i%2 == 1
						if tb {
							ldb = k
						}
						got, want := make([]float64, height*n), make([]float64, height*n)
						MultiplyShared(Key{Task: task, Run: run, Phase: i / 5, Tensor: i, Offset: 7}, got, n, a[lo*k:], k, false, b[i], ldb, tb, height, n, k, false)
						Multiply(want, n, a[lo*k:], k, false, b[i], ldb, tb, height, n, k, false)
						if !slices.Equal(got, want) {
							t.Fatalf("run %d, %d rows from %d on, task %d, factor %d: the product is another one", run, height, lo, task, i)
						}
					}
				}
			}
		}
	}
	// Without a run, nothing is kept.
	got, want := make([]float64, 8*n), make([]float64, 8*n)
	for i := range b {
		MultiplyShared(Key{Task: 1}, got, n, a, k, false, b[i], n, false, 8, n, k, false)
		Multiply(want, n, a, k, false, b[i], n, false, 8, n, k, false)
		if !slices.Equal(got, want) {
			t.Fatalf("factor %d: the product is another one", i)
		}
	}
}

// TestMultiply compares products of all layouts with sums in the order that the package states, bit by bit.
func TestMultiply(t *testing.T) {
	t.Run("float32", func(t *testing.T) {
		multiply(t, func(x, y, z float32) float32 { // exact: the numbers are small integers over 64
			return float32(float64(x)*float64(y) + float64(z))
		}, func(r *rand.Rand) float32 { return float32(r.IntN(64)-32) / 64 })
	})
	t.Run("float64", func(t *testing.T) {
		multiply(t, math.FMA, func(r *rand.Rand) float64 { return r.NormFloat64() })
	})
}

func multiply[T float32 | float64](t *testing.T, fma func(x, y, z T) T, draw func(*rand.Rand) T) {
	r := rand.New(rand.NewPCG(3, 4))
	matrix := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = draw(r)
		}
		return x
	}
	sizes := [][3]int{{1, 1, 1}, {1, 40, 300}, {3, 33, 5}, {8, 32, 32}, {12, 32, 256}, {13, 49, 257}, {16, 17, 9}, {25, 7, 600}, {100, 65, 30}, {30, 530, 20}, {110, 140, 601}, {530, 1100, 9}}
	if testing.Short() {
		sizes = sizes[:9] // one goroutine computes, and the race detector makes it many times slower
	}
	for _, size := range sizes {
		m, n, k := size[0], size[1], size[2]
		for variant := range 8 {
			ta, tb, add := variant&1 != 0, variant&2 != 0, variant&4 != 0
			lda, ldb, ldc := k+1, n+2, n+3
			a, b, c := matrix(m*lda), matrix(k*ldb), matrix(m*ldc)
			if ta {
				lda = m + 1
				a = matrix(k * lda)
			}
			if tb {
				ldb = k + 2
				b = matrix(n * ldb)
			}
			want := append([]T(nil), c...)
			for i := range m {
				for j := range n {
					sum, more := c[i*ldc+j], add
					for first := 0; first < k; first += 256 {
						var s T
						for l := first; l < min(first+256, k); l++ {
							s = fma(a[at(i, l, lda, ta)], b[at(l, j, ldb, tb)], s)
						}
						if more {
							s += sum
						}
						sum, more = s, true
					}
					want[i*ldc+j] = sum
				}
			}
			Multiply(c, ldc, a, lda, ta, b, ldb, tb, m, n, k, add)
			for i := range c {
				if c[i] != want[i] {
					t.Fatalf("%v, variant %d, element %d: want %v, got %v", size, variant, i, want[i], c[i])
				}
			}
		}
	}
}

// at returns the place of an element in a matrix by rows, or by columns.
func at(i, j, ld int, transposed bool) int {
	if transposed {
		i, j = j, i
	}
	return i*ld + j
}

// TestMultiplyRows checks that a product does not depend on how its rows and columns are divided.
func TestMultiplyRows(t *testing.T) {
	const m, n, k = 37, 70, 300
	r := rand.New(rand.NewPCG(5, 6))
	a, b := random(r, m*k), random(r, k*n)
	whole, parts := make([]float64, m*n), make([]float64, m*n)
	for _, tb := range []bool{false, true} {
		ldb, right := n, 1
		if tb {
			ldb, right = k, k
		}
		Multiply(whole, n, a, k, false, b, ldb, tb, m, n, k, false)
		for i := 0; i < m; i += 5 {
			for j := 0; j < n; j += 19 {
				Multiply(parts[i*n+j:], n, a[i*k:], k, false, b[j*right:], ldb, tb, min(5, m-i), min(19, n-j), k, false)
			}
		}
		if !slices.Equal(whole, parts) {
			t.Errorf("b by columns %v: parts give another product", tb)
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
