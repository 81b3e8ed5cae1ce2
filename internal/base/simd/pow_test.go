package simd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestPow compares powers with those of package math: special values for equality, and others within the
// errors that package math has, which multiplies several powers.
func TestPow(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	values := []float64{
		nan, inf, -inf, 0, zero, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e300, -1e300, 1e-300,
		7, -7, 0.99, 1 << 53, 1<<53 + 2, 2.5,
	}
	r := rand.New(rand.NewPCG(11, 12))
	for range 20000 {
		x := math.Exp(20 * r.NormFloat64())
		values = append(values[:22], x)
		y := 20 * r.NormFloat64()
		testPow(t, x, y)
	}
	if want, got := 8.45e-321, pow64(5e-324, 0.99); got != want { // package math gives another result
		t.Errorf("5e-324^0.99: want %v, got %v", want, got)
	}
	for _, x := range []float64{1e300, 1e-300, 1 + 1e-15, 1 - 1e-15} { // the product with the logarithm is not finite
		testPow(t, x, math.MaxFloat64)
		testPow(t, x, -math.MaxFloat64)
		testPow(t, x, 1e307)
	}
	for _, x := range values {
		for _, y := range values {
			testPow(t, x, y)
			testPow(t, x, math.Trunc(10*y))
		}
	}
}

func testPow(t *testing.T, x, y float64) {
	t.Helper()
	want, got := math.Pow(x, y), pow64(x, y)
	if same(want, got) {
		return
	}
	_, exponent := math.Frexp(want)
	if d := math.Abs(got-want) / math.Ldexp(1, max(exponent-53, -1074)); !(d <= 50) {
		t.Errorf("%v^%v: want %v, got %v", x, y, want, got)
	}
}

// TestPowOfIntegers compares powers with exact ones.
func TestPowOfIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	wrong, n := 0, 0
	for range 2000 {
		x, y := r.Float64()+0.5, 2+r.IntN(400)
		exact := new(big.Float).SetPrec(4000).SetInt64(1)
		for range y {
			exact.Mul(exact, new(big.Float).SetPrec(4000).SetFloat64(x))
		}
		want, _ := exact.Float64()
		got := pow64(x, float64(y))
		_, exponent := math.Frexp(want)
		if d := math.Abs(got-want) / math.Ldexp(1, exponent-53); !(d <= 1) {
			t.Errorf("%v^%d: want %v, got %v: %v ulp", x, y, want, got, d)
		}
		if got != want {
			wrong++
		}
		n++
	}
	if wrong > n/8 {
		t.Errorf("of %d powers, %d are not the nearest number: want at most an eighth", n, wrong)
	}
}

// TestShortPow compares powers of few factors with exact ones: each is the nearest number, or next to halfway
// between two.
func TestShortPow(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 5000 {
		x, y := math.Exp(4*r.NormFloat64()), r.IntN(33)-16
		exact := big.NewFloat(1).SetPrec(2000)
		for range max(y, -y) {
			exact.Mul(exact, new(big.Float).SetPrec(2000).SetFloat64(x))
		}
		if y < 0 {
			exact.Quo(big.NewFloat(1).SetPrec(2000), exact)
		}
		want, _ := exact.Float64()
		if got, ok := shortPow(x, float64(y)); !ok || got != want {
			t.Errorf("%v^%d: want %v, got %v, %v", x, y, want, got, ok)
		}
	}
	for _, c := range [][2]float64{{1e20, 2}, {1e-20, 2}, {2, 17}, {2, 0.5}, {math.NaN(), 2}, {2, math.NaN()}, {math.Inf(1), 2}} {
		if z, ok := shortPow(c[0], c[1]); ok {
			t.Errorf("%v^%v: want no product, got %v", c[0], c[1], z)
		}
	}
}

// TestLongPow compares what all sets of instructions give for powers that logarithms give: of numbers next to
// 1, of large, small and subnormal ones, with results on both sides of the bounds of float64.
func TestLongPow(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	var x, y []float64
	for range 20000 {
		base := []float64{math.Exp(200 * r.NormFloat64()), 1 + 1e-9*r.NormFloat64(), math.Exp(r.NormFloat64()), 5e-324 * float64(1+r.Int64N(1<<40))}[r.IntN(4)]
		base = min(max(base, 5e-324), math.MaxFloat64)
		to := []float64{-745.2, -744, -708.4, 709.78, 0, 1e6}[r.IntN(6)] + r.NormFloat64() // the logarithm of the power
		x, y = append(x, base), append(y, min(max(to/math.Log(base), -math.MaxFloat64), math.MaxFloat64))
	}
	others(t, func(name string) {
		z := make([]float64, len(x))
		functions64.binary[Pow](z, x, y)
		wrong := 0
		for i, v := range z {
			if want := pow64(x[i], y[i]); !same(v, want) {
				t.Errorf("%s: %v^%v: want %v, got %v", name, x[i], y[i], want, v)
				if wrong++; wrong > 9 {
					return
				}
			}
		}
		for _, i := range []int{0, 1, 2, 3, 4, 5} {
			functions64.binaryScalar[Pow](z, x, y[i])
			for j, v := range z {
				if want := pow64(x[j], y[i]); !same(v, want) {
					t.Fatalf("%s: %v^%v: want %v, got %v", name, x[j], y[i], want, v)
				}
			}
			functions64.scalarBinary[Pow](z, x[i], y)
			for j, v := range z {
				if want := pow64(x[i], y[j]); !same(v, want) {
					t.Fatalf("%s: %v^%v: want %v, got %v", name, x[i], y[j], want, v)
				}
			}
		}
	})
}
