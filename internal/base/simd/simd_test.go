package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// specials are values at which functions change.
var specials = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, math.Inf(1), math.Inf(-1), math.NaN(),
	math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-40, -1e-40, 1e-310, 0x1p-126, 0x1p-1022,
	math.MaxFloat64, 88.72, 88.73, -87.3, -88, -103.9, -104.1, 709.7, 709.8, -708.5, -745, -746,
	8388607.5, 4503599627370495.5, -13, -14.2, -37.5, -38.5, 9999.9, 1e10, math.Pi, math.Pi / 2, 1e-5,
	0.3465736, 0.7, 0.70710678,
	1.4142135, 1e300, 17.4, -17.4,
}

// operand returns n elements, some of them special.
func operand[T Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		switch r.IntN(4) {
		case 0:
			x[i] = T(specials[r.IntN(len(specials))])
		case 1:
			x[i] = T(r.NormFloat64())
		case 2:
			x[i] = T(100 * r.NormFloat64())
		default:
			x[i] = T(math.Float32frombits(r.Uint32()))
		}
	}
	return x
}

// same reports whether two elements have the same bits, or are both NaN.
func same[T Float](x, y T) bool {
	if x != x || y != y {
		return x != x && y != y
	}
	return math.Float64bits(float64(x)) == math.Float64bits(float64(y))
}

func TestComparisons(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		f          Binary
		x, y, want float32
	}{
		{Less, 1, 2, 1}, {Less, 2, 2, 0}, {Less, nan, 2, 0}, {AtMost, 2, 2, 1}, {AtMost, 2, nan, 0}, {AtMost, 3, 2, 0},
		{Equal, 0, float32(math.Copysign(0, -1)), 1}, {Equal, nan, nan, 0}, {Unequal, nan, nan, 1}, {Unequal, 1, 1, 0},
		{And, 1, 1, 1}, {And, 0, 1, 0}, {Or, 0, 0, 0}, {Or, 1, 0, 1}, {Max, 1, nan, nan}, {Max, nan, 1, nan},
		{Min, nan, -inf, nan},
		{Max, 0, float32(math.Copysign(0, -1)), 0}, {Min, 0, float32(math.Copysign(0, -1)), float32(math.Copysign(0, -1))},
		{Sub, 1, 3, -2}, {Div, 1, 4, 0.25}, {Pow, 2, 10, 1024}, {Add, 1, 3, 4}, {Mul, 2, 3, 6},
	} {
		z := make([]float32, 5)
		fill := func(v float32) []float32 { return []float32{v, v, v, v, v} }
		check := func(form string) {
			t.Helper()
			for i, v := range z {
				if !same(v, c.want) {
					t.Errorf("%s of %v and %v, %s: want %v, got %v at %d", binaryNames[c.f], c.x, c.y, form, c.want, v, i)
				}
				z[i] = -7
			}
		}
		BinaryOf[float32](c.f)(z, fill(c.x), fill(c.y))
		check("two strips")
		BinaryScalarOf[float32](c.f)(z, fill(c.x), c.y)
		check("strip and scalar")
		ScalarBinaryOf[float32](c.f)(z, c.x, fill(c.y))
		check("scalar and strip")
	}
}

func TestUnarySpecialValues(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, c := range []struct {
		f       Unary
		x, want float64
	}{
		{Neg, 0, zero}, {Abs, zero, 0}, {Abs, -inf, inf}, {Square, -3, 9}, {Sqrt, 9, 3}, {Sqrt, -1, nan}, {Rsqrt, 4, 0.5},
		{Recip, zero, -inf}, {Exp, 0, 1}, {Exp, -inf, 0}, {Exp, inf, inf}, {Exp, nan, nan}, {Exp, 1e6, inf}, {Exp, -1e6, 0},
		{Log, 0, -inf}, {Log, zero, -inf}, {Log, -1, nan}, {Log, 1, 0}, {Log, inf, inf}, {Log, nan, nan},
		{Log1p, zero, zero}, {Log1p, -zero, -zero}, {Log1p, -1, -inf}, {Log1p, -2, nan}, {Log1p, inf, inf}, {Log1p, -inf, nan}, {Log1p, nan, nan},
		{Expm1, zero, zero}, {Expm1, -inf, -1}, {Expm1, inf, inf}, {Expm1, nan, nan}, {Expm1, 1e6, inf}, {Expm1, -1e6, -1},
		{Sin, zero, zero}, {Sin, inf, nan}, {Sin, nan, nan}, {Cos, 0, 1}, {Cos, -inf, nan},
		{Tanh, zero, zero}, {Tanh, inf, 1}, {Tanh, -inf, -1}, {Tanh, nan, nan}, {Tanh, -1e6, -1},
		{Sigmoid, 0, 0.5}, {Sigmoid, -inf, 0}, {Sigmoid, inf, 1}, {Sigmoid, nan, nan}, {Sigmoid, -1e6, 0},
		{Phi, 0, 0.5}, {Phi, -inf, 0}, {Phi, inf, 1}, {Phi, nan, nan}, {Phi, -1e6, 0}, {Phi, 1e6, 1},
		{Density, inf, 0}, {Density, -inf, 0}, {Density, nan, nan}, {Density, -1e30, 0},
		{Floor, -0.5, -1}, {Floor, zero, zero}, {Ceil, -0.5, zero}, {Round, 2.5, 2}, {Round, -0.5, zero}, {Round, 3.5, 4},
		{Sign, -7, -1}, {Sign, inf, 1}, {Sign, zero, 0}, {Sign, nan, 0}, {IsNaN, nan, 1}, {IsNaN, inf, 0},
		{Not, zero, 1}, {Not, nan, 0},
	} {
		testUnary[float32](t, c.f, c.x, c.want)
		testUnary[float64](t, c.f, c.x, c.want)
	}
}

func testUnary[T Float](t *testing.T, f Unary, x, want float64) {
	t.Helper()
	z := []T{T(x), T(x), T(x)}
	UnaryOf[T](f)(z, z)
	for _, v := range z {
		if !same(v, T(want)) {
			t.Errorf("%s of %v in %T: want %v, got %v", unaryNames[f], x, v, want, v)
		}
	}
}

func TestMulAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w, x, y := operand[float32](r, 100), operand[float32](r, 100), operand[float32](r, 100)
	w[0], x[0], y[0] = 1+0x1p-12, 1+0x1p-12, -1-0x1p-11 // 0 after a rounded product, 2^-24 without
	z := make([]float32, 100)
	check := func(what string, want func(i int) float32) {
		t.Helper()
		for i, v := range z {
			if !same(v, want(i)) {
				t.Errorf("%s of %v, %v and %v: want %v, got %v", what, w[i], x[i], y[i], want(i), v)
			}
		}
	}
	MulAdd(z, w, x, y)
	check("MulAdd", func(i int) float32 { p := float32(w[i] * x[i]); return float32(p + y[i]) })
	MulSubFrom(z, w, x, y)
	check("MulSubFrom", func(i int) float32 { p := float32(w[i] * x[i]); return float32(y[i] - p) })
	MulAddScalar(z, w, x[0], y)
	check("MulAddScalar", func(i int) float32 { p := float32(w[i] * x[0]); return float32(p + y[i]) })
	Select(z, []float32(w), x, y)
	check("Select", func(i int) float32 {
		if w[i] == 0 {
			return y[i]
		}
		return x[i]
	})
}

func TestFolds(t *testing.T) {
	x := make([]float64, 64*3+7)
	for i := range x {
		x[i] = float64(i%17) - 8
	}
	var a Lanes[float64]
	SumInto(&a, x[:128])
	SumInto(&a, x[128:])
	if want := x[3] + x[67] + x[131] + x[195]; a[3] != want {
		t.Errorf("lane 3 of a sum: want %v, got %v", want, a[3])
	}
	sum, dot, least, greatest := 0.0, 0.0, 0.0, 0.0
	for _, v := range x {
		sum, dot = sum+v, dot+v*v
		least, greatest = min(least, v), max(greatest, v)
	}
	expect := func(what string, want float64, got float64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: want %v, got %v", what, want, got)
		}
		a.Fill(0)
	}
	expect("sum", sum, a.Sum())
	DotInto(&a, x, x)
	expect("dot", dot, a.Sum())
	MaxInto(&a, x)
	expect("max", greatest, a.Max())
	MinInto(&a, x)
	expect("min", least, a.Min())
	ExpInto(&a, []float64{3, 3, 3}, 3)
	expect("exp", 3, a.Sum())
	a.Fill(1)
	ProdInto(&a, []float64{2, 3, 5})
	expect("prod", 30, a.Prod())
}

func TestGatherScatter(t *testing.T) {
	x := []int{0, 1, 2, 3, 4, 5, 6, 7}
	z := make([]int, 3)
	Gather(z, x, 7, -3)
	if z[0] != 7 || z[1] != 4 || z[2] != 1 {
		t.Errorf("want [7 4 1], got %v", z)
	}
	Gather(z, x, 3, 1)
	if z[0] != 3 || z[1] != 4 || z[2] != 5 {
		t.Errorf("want [3 4 5], got %v", z)
	}
	Gather(z, x, 6, 0)
	if z[0] != 6 || z[1] != 6 || z[2] != 6 {
		t.Errorf("want [6 6 6], got %v", z)
	}
	Scatter(x, []int{-7}, 7, 1)
	if x[7] != -7 {
		t.Errorf("want -7, got %v", x[7])
	}
	Scatter(x, []int{-1, -2, -3}, 0, 2)
	if x[0] != -1 || x[2] != -2 || x[4] != -3 || x[1] != 1 {
		t.Errorf("want [-1 1 -2 3 -3 5 6 7], got %v", x)
	}
}

func TestConversions(t *testing.T) {
	x := []float32{1, -0.1, float32(math.Inf(1)), 1e-42}
	z := make([]float64, 4)
	Widen(z, x)
	for i, v := range z {
		if v != float64(x[i]) {
			t.Errorf("widened %v: got %v", x[i], v)
		}
	}
	z[1], z[3] = 0.1, 1e300
	Narrow(x, z)
	for i, v := range z {
		if x[i] != float32(v) {
			t.Errorf("narrowed %v: got %v", v, x[i])
		}
	}
}

func TestLengthsDiffer(t *testing.T) {
	for name, call := range map[string]func(){
		"unary":  func() { UnaryOf[float32](Exp)(make([]float32, 3), make([]float32, 2)) },
		"binary": func() { BinaryOf[float64](Add)(make([]float64, 3), make([]float64, 3), make([]float64, 4)) },
		"scalar": func() { BinaryScalarOf[float64](Less)(make([]float64, 3), make([]float64, 2), 1) },
		"mulAdd": func() { MulAdd(make([]float64, 3), make([]float64, 3), make([]float64, 3), nil) },
		"dot":    func() { DotInto(new(Lanes[float32]), make([]float32, 3), make([]float32, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: want a panic for operands of unequal lengths, got none", name)
				}
			}()
			call()
		}()
	}
}
