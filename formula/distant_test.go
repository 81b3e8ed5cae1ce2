package formula

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// TestDistant checks that erfc is precise where it is near 0, and that hypot does not overflow in its
// squares.
func TestDistant(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
		unit, far := 0x1p-23, 9.2
		if typ == dtype.F64 {
			unit, far = 0x1p-52, 26
		}
		x, w := make([]float64, 300), make([]float64, 300)
		for i := range x {
			x[i] = float64(float32(far * float64(i) / 300))
			w[i] = float64(float32(math.Ldexp(1.25, i%200-100)))
		}
		same := func(of string, got, want []float64) {
			for i, v := range want {
				if !(math.Abs(got[i]-v) <= 2*unit*math.Abs(v)) {
					t.Errorf("%v: element %d of %s is %v, want %v", typ, i, of, got[i], v)
				}
			}
		}
		erfc, lengths := make([]float64, len(x)), make([]float64, len(x))
		for i := range x {
			erfc[i], lengths[i] = math.Erfc(x[i]), 1.25*w[i]
		}
		given := map[string][]float64{"x": x, "w": w}
		same("erfc(x)", computed(t, "y[n, k] = erfc(x[n, k])", typ, 1, len(x), given)["y"], erfc)
		same("hypot(w, w * 3 / 4)", computed(t, "y[n, k] = hypot(w[n, k], w[n, k] * 0.75)", typ, 1, len(x), given)["y"], lengths)
	}
}

// TestNorm checks that norms and their derivatives are precise for elements of any magnitude and for rows of
// any length.
func TestNorm(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 0))
	for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
		unit, greatest := 0x1p-23, 127
		if typ == dtype.F64 {
			unit, greatest = 0x1p-52, 1023
		}
		for _, by := range []int{0, greatest - 6, -greatest + 40, greatest / 2, -greatest * 2 / 3} {
			for _, n := range []int{1, 2, 3, 8, 16, 17, 64, 129, 1000} {
				x, squares := make([]float64, n), 0.0
				for i := range x {
					v := float64(float32(random.NormFloat64()))
					squares += v * v
					x[i] = math.Ldexp(v, by)
				}
				length := math.Sqrt(squares)
				got := computed(t, "s[n] = norm(k: x[n, k])", typ, 1, n, map[string][]float64{"x": x, "grad.s": {1}})
				bound := (4 + float64(n)/8) * unit
				if v := math.Ldexp(got["s"][0], -by); !(math.Abs(v-length) <= bound*length) {
					t.Errorf("%v: the norm of %d numbers times 2^%d is %v, want %v", typ, n, by, v, length)
				}
				for i, g := range got["grad.x"] {
					if want := math.Ldexp(x[i], -by) / length; !(math.Abs(g-want) <= bound*(math.Abs(want)+0x1p-20)) {
						t.Errorf("%v: slope %d of %d, times 2^%d, is %v, want %v", typ, i, n, by, g, want)
					}
				}
			}
		}
	}
}
