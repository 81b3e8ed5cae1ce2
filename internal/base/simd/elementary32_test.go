package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestElementary32 compares functions that hold numbers in float64 with those that call a function for each
// sum of products: for numbers of all sizes, for such as are common, and for numbers around bounds.
func TestElementary32(t *testing.T) {
	n := 1 << 19
	if testing.Short() {
		n = 1 << 17
	}
	for _, f := range []struct {
		name  string
		fast  func(float64) float64
		plain func(float32) float32
	}{
		{"exp", exp32, single.exp}, {"tanh", tanh32, single.tanh}, {"sigmoid", sigmoid32, single.sigmoid},
		{"log", log32, single.log}, {"density", density32, single.density}, {"phi", phi32, single.phi},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(5, 6))
			check := func(x float32) {
				if got, want := f.fast(float64(x)), f.plain(x); !same(got, float64(want)) {
					t.Fatalf("%g (%#08x): want %g, got %g", x, math.Float32bits(x), want, got)
				}
			}
			for range n {
				check(math.Float32frombits(r.Uint32()))
				check(float32(r.NormFloat64() * 3))
				check(float32(r.ExpFloat64() * 40))
				check(-float32(r.ExpFloat64() * 40))
			}
			for _, bound := range []float32{0, 1, 2, 0.5, 10, 14.5, 40, 60, 85, 87.3, 89, 103, 104, 0x1p-126, 0x1p-40, 0x1p-24, 0.34657359, math.MaxFloat32, float32(math.Inf(1)), math.Float32frombits(0x3f3504f3)} {
				for _, sign := range []float32{1, -1} {
					for d := range int32(2001) {
						check(sign * math.Float32frombits(uint32(int32(math.Float32bits(bound))+d-1000)))
					}
				}
			}
		})
	}
}

// TestHalfway checks that some numbers take the slow path of each sum: without it, bits differ.
func TestHalfway(t *testing.T) {
	one := math.Float64bits(1)
	for rest, want := range map[uint64]bool{0: false, 1: false, 1 << 28: true, 1<<28 - 1: false, 1<<28 + 1: false, 1<<29 | 1<<28: true, 1<<29 - 1: false} {
		if got := halfway(math.Float64frombits(one | rest)); got != want {
			t.Errorf("1 + %#x places: want %v, got %v", rest, want, got)
		}
	}
}
