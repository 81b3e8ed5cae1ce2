package term

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"
)

// TestDerivatives compares the derivative of each function with finite differences.
func TestDerivatives(t *testing.T) {
	const step = 1e-6
	for name, f := range Functions {
		if f.Result != Real || f.Has(Extreme|Random) || name == "length" || name == "trigamma" {
			// The scale of a length is detached, and trigamma, which occurs in gradients only, has no
			// derivative.
			continue
		}
		for _, at := range [][]float64{{0.3, 1.7}, {0.8, 0.6}} {
			at = at[:f.Args]
			value := func(i int, by float64) float64 {
				x := append([]float64(nil), at...)
				x[i] += by
				return f.Real(x...)
			}
			args := make([]*Term, f.Args)
			for i, v := range at {
				args[i] = RealNumber(v)
			}
			for i := range args {
				want, got := (value(i, step)-value(i, -step))/(2*step), 0.0
				if f.Derivative != nil {
					got = valueOf(f.Derivative(i, args, RealNumber(f.Real(at...))))
				}
				if !(math.Abs(got-want) <= 1e-8*max(1, math.Abs(want))) {
					t.Errorf("the derivative of %s at %v by parameter %d is %v, want %v", name, at, i, got, want)
				}
			}
		}
	}
}

// TestSlopesAtEnds compares the derivatives of all functions with their limits at infinity and at 0, and with
// their values at the greatest and at denormal numbers. Without a limit, as for sin at infinity, the
// derivative is NaN. Where the left and the right derivative differ, it is the one that PyTorch chooses.
func TestSlopesAtEnds(t *testing.T) {
	const far, small = math.MaxFloat64, 0x1p-1074
	inf, nan := math.Inf(1), math.NaN()
	// ends are arguments at which the function has the same derivative.
	type ends struct {
		want float64
		at   []float64
	}
	all := func(want float64) []ends { return []ends{{want, []float64{inf, -inf, far, -far, 0, small, -small}}} }
	bell := func(top float64) []ends {
		return []ends{{0, []float64{inf, -inf, far, -far}}, {top, []float64{0, small, -small}}}
	}
	one := map[string][]ends{
		"exp": {{inf, []float64{inf, far}}, {0, []float64{-inf, -far}}, {1, []float64{0, small, -small}}},
		"log": {{0, []float64{inf}}, {1 / far, []float64{far}}, {inf, []float64{0, small}}}, "log1p": {{0, []float64{inf}}, {1 / far, []float64{far}}, {1, []float64{0, small, -small}}, {inf, []float64{-1}}},
		"sqrt":  {{0, []float64{inf}}, {0.5 / math.Sqrt(far), []float64{far}}, {inf, []float64{0}}, {0.5 / math.Sqrt(small), []float64{small}}},
		"rsqrt": {{0, []float64{inf, far}}, {-inf, []float64{0, small}}},
		"sin":   {{nan, []float64{inf, -inf}}, {1, []float64{0, small, -small}}}, "cos": {{nan, []float64{inf, -inf}}, {0, []float64{0}}, {-small, []float64{small}}},
		"tan": {{nan, []float64{inf, -inf}}, {1, []float64{0, small, -small}}}, "tanh": bell(1), "sigmoid": bell(0.25), "Phi": bell(1 / math.Sqrt(2*math.Pi)),
		"density": bell(0), "atan": bell(1), "asinh": bell(1), "erf": bell(2 / math.Sqrt(math.Pi)), "erfc": bell(-2 / math.Sqrt(math.Pi)),
		"asin": {{1, []float64{0, small, -small}}, {inf, []float64{1, -1}}}, "acos": {{-1, []float64{0, small, -small}}, {-inf, []float64{1, -1}}},
		"atanh": {{1, []float64{0, small, -small}}, {inf, []float64{1, -1}}}, "erfinv": {{math.Sqrt(math.Pi) / 2, []float64{0, small, -small}}, {inf, []float64{1, -1}}},
		"sinh": {{inf, []float64{inf, -inf, far, -far}}, {1, []float64{0, small, -small}}}, "cosh": {{inf, []float64{inf, far}}, {-inf, []float64{-inf, -far}}, {0, []float64{0}}, {small, []float64{small}}},
		"softplus": {{1, []float64{inf, far}}, {0, []float64{-inf, -far}}, {0.5, []float64{0, small, -small}}},
		"lgamma":   {{inf, []float64{inf}}, {-inf, []float64{0, small}}, {math.Log(far), []float64{far}}},
		"digamma":  {{0, []float64{inf}}, {1 / far, []float64{far}}, {inf, []float64{0, small, -small}}},
		"expm1":    {{inf, []float64{inf, far}}, {0, []float64{-inf, -far}}, {1, []float64{0, small, -small}}},
		"abs":      {{1, []float64{inf, far, small}}, {-1, []float64{-inf, -far, -small}}, {0, []float64{0}}},
		"trigamma": all(nan), // which no formula can ask for
	}
	near := func(name string, at []float64, i int, got, want float64) {
		t.Helper()
		if !(got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
			t.Errorf("the derivative of %s at %v by parameter %d is %v, want %v", name, at, i, got, want)
		}
	}
	for name, rows := range one {
		for _, row := range rows {
			for _, x := range row.at {
				f := Functions[name]
				near(name, []float64{x}, 0, valueOf(f.Derivative(0, []*Term{RealNumber(x)}, RealNumber(f.Real(x)))), row.want)
			}
		}
	}
	half := math.Sqrt(0.5)
	two := map[string][][4]float64{ // both arguments, and both derivatives
		"hypot": {{inf, 3, 1, 0}, {-inf, 3, -1, 0}, {3, -inf, 0, -1}, {inf, inf, half, half}, {-inf, inf, -half, half}, {inf, far, 1, 0}, {0, 0, 0, 0}, {far, 0, 1, 0},
			{small, 0, 1, 0}, {0, -small, 0, -1}, {0, inf, 0, 1}, {inf, nan, 1, nan}},
		"atan2": {{inf, 3, 0, 0}, {3, inf, 0, 0}, {3, -inf, 0, 0}, {-inf, inf, 0, 0}, {inf, far, 0, 0}, {0, 0, 0, 0}, {far, 0, 0, -1 / far}, {0, far, 1 / far, 0}, {0, small, inf, 0}},
		"pow": {{inf, -1, 0, 0}, {inf, 2, inf, inf}, {inf, 0.5, 0, inf}, {0.5, inf, 0, 0}, {2, -inf, 0, 0}, {2, inf, inf, inf}, {0, inf, 0, 0}, {inf, -inf, 0, 0}, {0, 2, 0, 0}, {0, 1, 1, 0},
			{0, 0, 0, 0}, {far, -1, 0, math.Log(far) / far}, {small, 2, 0, 0}, {inf, 0, 0, inf}, {-0.5, inf, 0, nan}},
		"fmod":   {{5, inf, 1, 0}, {-5, -inf, 1, 0}, {far, 1, 1, -far}, {0, 2, 1, 0}, {small, 2, 1, 0}, {2, small, 1, -inf}, {inf, 2, 1, nan}},
		"length": {{1, 0, 0, 0}, {2, inf, 0, 0}, {0, 4, 0, 0}, {1, small, 0, 0.5 / math.Sqrt(small)}},
	}
	for name, rows := range two {
		f := Functions[name]
		for _, row := range rows {
			args := []*Term{RealNumber(row[0]), RealNumber(row[1])}
			for i := range args {
				near(name, row[:2], i, valueOf(f.Derivative(i, args, RealNumber(f.Real(row[:2]...)))), row[2+i])
			}
		}
	}
	for name, f := range Functions {
		if f.Derivative != nil && one[name] == nil && two[name] == nil {
			t.Errorf("no derivative of %s at infinity is compared", name)
		}
	}
}

// valueOf evaluates a real term without elements.
func valueOf(n *Term) float64 {
	v := make([]float64, len(n.Args))
	for i, x := range n.Args {
		v[i] = valueOf(x)
	}
	switch n.Op {
	case Constant:
		return n.Value()
	case Negate:
		return -v[0]
	case Apply:
		return n.Func.Real(v...)
	case Choose:
		if v[0] != 0 {
			return v[1]
		}
		return v[2]
	case And:
		return v[0] * v[1]
	case Or:
		return max(v[0], v[1])
	case Equal:
		return Truth(v[0] == v[1])
	case Less:
		return Truth(v[0] < v[1])
	case AtMost:
		return Truth(v[0] <= v[1])
	}
	return realOf(n.Op, v[0], v[1])
}

// TestBy compares each function that has a definition in terms of others (By) with that definition.
func TestBy(t *testing.T) {
	for name, f := range Functions {
		if f.By == nil {
			continue
		}
		for _, x := range []float64{-700, -20, -1.5, -0.9, -1e-9, 0, 1e-300, 1e-3, 0.7, 1, 1.0000001, 3, 30, 709.9, 1 << 29, 1 << 31, 1e200, math.Inf(1), math.Inf(-1), math.NaN()} {
			want, got := f.Real(x), valueOf(f.By(RealNumber(x)))
			if got != want && !(math.Abs(got-want) <= 2e-15*math.Abs(want)) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s(%v) is %v by others, want %v", name, x, got, want)
			}
		}
	}
}

// TestFunctions checks the properties in the function table: results of exact functions are not rounded,
// integers stay integers, and device code and the language reference have each function.
func TestFunctions(t *testing.T) {
	header, err := os.ReadFile("../../runtime/gpu/formula.cuh")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range Functions {
		if f.Integers == Constant && !regexp.MustCompile(`opgen_`+name+`\(|OPGEN_FUNCTION\(`+name+`,`).Match(header) {
			t.Errorf("device code has no opgen_%s", name)
		}
		if f.Params != "" && !regexp.MustCompile("`"+name+"[`(]").Match(page) {
			t.Errorf("docs/spec.md has no %s", f.Usage())
		}
		if f.Unary != 0 && f.Args != 1 || f.Binary != 0 && f.Args != 2 {
			t.Errorf("the vector code of %s has another number of arguments than %d", name, f.Args)
		}
		for _, x := range []float64{-2.75, 0.1, 3, 16777217} {
			narrow := float64(float32(x))
			args := []float64{narrow, 1.5}[:min(f.Args, 2)]
			if !f.Has(Exact | GivesIntegers) {
				continue
			}
			if y := f.Real(args...); f.Has(Exact) && float64(float32(y)) != y {
				t.Errorf("%s%v is %v, which float32 does not hold", name, args, y)
			} else if f.Has(GivesIntegers) && y != math.Trunc(y) {
				t.Errorf("%s%v is %v, which is no integer", name, args, y)
			}
			if f.Keep == nil {
				continue
			}
			whole := []float64{math.Trunc(narrow), 2}[:f.Args]
			if y := f.Real(whole...); y != float64(f.Keep(int(whole[0]), 2)) {
				t.Errorf("%s%v is %v of numbers and %d of integers", name, whole, y, f.Keep(int(whole[0]), 2))
			}
		}
	}
}

// TestRemainder compares remainders with those of math.Mod, bit for bit: of numbers of any size, near
// multiples of the divisor, and of infinite numbers, 0 and NaN.
func TestRemainder(t *testing.T) {
	check := func(x, y float64) {
		got, want := remainder(x, y), math.Mod(x, y)
		if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("the remainder of %v by %v is %v, want %v", x, y, got, want)
		}
	}
	numbers := []float64{0, 0x1p-1074, 0x1p-1022, 0.1, 1, 1 - 0x1p-53, 1 + 0x1p-52, 3, 0x1p52, 1<<53 - 1, 1 << 53, 1<<53 + 2, 3 << 52, math.MaxFloat64, math.Inf(1), math.NaN()}
	for _, x := range numbers {
		for _, y := range numbers {
			for _, s := range []float64{1, -1} {
				check(x, s*y)
				check(-x, s*y)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		y := math.Ldexp(random.Float64()-0.5, random.IntN(2000)-1060)
		n := math.Trunc(math.Ldexp(random.Float64(), random.IntN(56)))
		check(n*y, y)
		check(math.Nextafter(n*y, 0), y)
		check(math.Nextafter(n*y, math.Inf(1)), -y)
		check(math.Float64frombits(random.Uint64()), y)
		check(math.Float64frombits(random.Uint64()), math.Float64frombits(random.Uint64()))
	}
}

// TestSingular checks for which functions the result or the derivative may be infinite or NaN.
func TestSingular(t *testing.T) {
	for name, f := range Functions {
		if f.Result != Real || f.Has(Random|Extreme) || f.Args != 1 {
			continue
		}
		finite := func(v float64) bool { return v-v == 0 }
		singular, grows := false, false
		for _, x := range []float64{-2, -1, -0.5, 0, 0.5, 1, 2} {
			y := f.Real(x)
			singular = singular || !finite(y)
			if f.Derivative != nil {
				singular = singular || !finite(valueOf(f.Derivative(0, []*Term{RealNumber(x)}, RealNumber(y))))
			}
			grows = grows || !finite(f.Real(1e4*x)) && finite(y)
		}
		if singular != f.Has(Singular) {
			t.Errorf("%s has a value or slope that is not finite: %t, and the table says %t", name, singular, f.Has(Singular))
		}
		if grows && !f.Has(Grows|Singular) {
			t.Errorf("%s overflows, and the table does not say so", name)
		}
	}
}

// TestOperands checks the operands of nested calls of max and min.
func TestOperands(t *testing.T) {
	i, j := (&Variable{Name: "i", Lo: Number(0), Hi: Number(3)}).Term(), (&Variable{Name: "j", Lo: Number(0), Hi: Number(4)}).Term()
	x := RealNumber(0.5)
	whole := Greatest(i, Greatest(j, Number(2)))
	for _, c := range []struct {
		n    *Term
		f    *Function
		want int
	}{{whole, Max, 3}, {whole, Min, 1}, {Applied("max", Applied("max", x, x), whole), Max, 3}, {Least(i, whole), Min, 2}} {
		if got := Operands(c.n, c.f); len(got) != c.want {
			t.Errorf("%v is an extreme of %v, want %d of them", c.n, got, c.want)
		}
	}
}
