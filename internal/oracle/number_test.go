package oracle

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// depending returns a number that is the element of a lane.
func depending(lane int, v float64) number {
	x := number{v: v, varies: true, lanes: 1 << lane}
	x.d[lane] = 1
	return x
}

// TestInfiniteSlopes checks that an infinite slope hands on nothing to what a number does not depend on, and
// NaN to what it depends on with a slope of 0.
func TestInfiniteSlopes(t *testing.T) {
	zero, nothing := depending(0, 0), number{v: math.Inf(-1)}
	flat := mul(zero, exactly(0), 0x1p-24) // depends on lane 0 with a derivative of 0
	for name, x := range map[string]number{
		"a product":      mul(flat, nothing, 0x1p-24),
		"a quotient":     div(exactly(1), flat, 0x1p-24),
		"a root":         apply(flat, curves["sqrt"](0), 0x1p-24),
		"a power":        power(flat, exactly(0.5)),
		"a logsumexp":    new(evaluation).logSumExp([]term{{value: realValue(zero)}, {value: realValue(number{v: math.NaN()})}}),
		"an exponential": apply(mul(zero, nothing, 0x1p-24), curves["exp"](math.NaN()), 0x1p-24),
	} {
		if !math.IsNaN(x.d[0]) || x.d[1] != 0 || x.de[1] != 0 {
			t.Errorf("%s: want derivatives NaN and 0, got %v with errors %v", name, x.d, x.de)
		}
	}
}

// TestShareOfNothing checks that a share of 0 times an infinite slope may be NaN: of what is not the extreme.
func TestShareOfNothing(t *testing.T) {
	x := depending(0, 2)
	infinite := mul(x, number{v: math.Inf(1)}, 0x1p-24)
	e := &evaluation{unit: 0x1p-24}
	if got := e.extreme("min", realValue(infinite), realValue(exactly(1)), never, never).number(); got.v != 1 || got.by(0, 1) != 0 || !math.IsInf(got.de[0], 1) || got.de[1] != 0 {
		t.Errorf("want 1 with a slope of 0 that is not known, got %v with %v and errors %v", got.v, got.d, got.de)
	}
	if got := e.extreme("min", realValue(x), realValue(exactly(1)), never, never).number(); got.de[0] != 0 {
		t.Errorf("want a slope of 0 that is known, got errors %v", got.de)
	}
}

// TestOverflow checks that what a type may not hold is not known, nor what is made of it.
func TestOverflow(t *testing.T) {
	large := mul(depending(0, 1e30), exactly(1e20), 0x1p-24).within(math.MaxFloat32)
	for name, x := range map[string]number{
		"itself":     large,
		"a function": apply(large, curves["tanh"](large.v), 0x1p-24),
		"a quotient": div(exactly(1), large, 0x1p-24),
		"a product":  mul(large, exactly(0), 0x1p-24),
		"a sum":      total([]term{{value: realValue(large)}, {value: realValue(neg(large))}}),
	} {
		if !math.IsInf(x.err, 1) || !math.IsInf(x.within(math.MaxFloat32).de[0], 1) || x.de[1] != 0 {
			t.Errorf("%s: want bounds that are infinite, and 0 of another element, got %v and %v", name, x.err, x.de)
		}
	}
	if x := mul(exactly(1e30), exactly(1e20), 0x1p-24).within(math.MaxFloat64); math.IsInf(x.err, 1) {
		t.Errorf("float64 holds 1e50: got the bound %v", x.err)
	}
}

// TestVarianceOfEqual checks that the bound of the gradient of a variance covers the rounding of the mean,
// from which equal terms differ by it.
func TestVarianceOfEqual(t *testing.T) {
	var terms []term
	for range 17 {
		terms = append(terms, term{value: realValue(number{v: 0.1, err: 0.1, varies: true, lanes: 1, d: [passLanes]float64{1}})})
	}
	got := variance(terms, 0x1p-24)
	if got.d[0] != 0 || got.de[0] < 0.2 {
		t.Errorf("want the derivative 0 with a bound of 2 * 0.1 at least, got %v with %v", got.d[0], got.de[0])
	}
}

// TestAllows compares numbers with bounds.
func TestAllows(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range []struct {
		got, want, bound float64
		ok               bool
	}{
		{1, 1, 0, true}, {1, 1.1, 0.2, true}, {1, 1.1, 0.05, false}, {nan, nan, 0, true}, {nan, 1, 0.1, false}, {1, nan, 0, false}, {inf, inf, 0, true},
		{inf, 1, 1, false}, {1, inf, 0, false}, {-inf, inf, 0, false}, {3, 1, inf, true}, {0, 1e-301, 0, true},
	} {
		if ok := (Element{Real: x.want, Bound: x.bound}).Allows(x.got, dtype.F64); ok != x.ok {
			t.Errorf("%v, want %v within %v: got %v, want %v", x.got, x.want, x.bound, ok, x.ok)
		}
	}
}

// TestTotals compares sums of many equal terms, which naive addition rounds the same way each time, with
// exact sums.
func TestTotals(t *testing.T) {
	for _, x := range []float64{0.1, 0.6, 1e-3, 1 / 3.0} {
		s, exact := new(sum), new(big.Float).SetPrec(200)
		naive := 0.0
		for range 1000 {
			s.add(exactly(x))
			exact.Add(exact, big.NewFloat(x))
			naive += x
		}
		want, _ := exact.Float64()
		got := s.result()
		if got.v != want {
			t.Errorf("1000 times %v is %v, want %v", x, got.v, want)
		}
		if lost := math.Abs(naive - want); got.err*0x1p-53 < lost {
			t.Errorf("1000 times %v: naive addition loses %v, more than the bound %v", x, lost, got.err*0x1p-53)
		}
	}
	s := new(sum)
	for _, x := range []float64{1, math.Inf(1), 1} {
		s.add(exactly(x))
	}
	if got := s.result().v; !math.IsInf(got, 1) {
		t.Errorf("a sum with an infinite term is %v", got)
	}
}

// TestSumsInAnyOrder adds the same numbers in float32 in all orders, and compares each with the bound of the
// oracle, which is 0 only where no order rounds.
func TestSumsInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rounded, exact := 0, 0
	for range 20000 {
		terms := make([]float32, 3)
		s := new(sum)
		for i := range terms {
			terms[i] = float32(math.Ldexp(float64(random.IntN(1<<24)), random.IntN(5)-24))
			if i > 0 && random.IntN(3) == 0 {
				terms[i] = terms[0]
			}
			s.add(depending(0, float64(terms[i])))
		}
		want := s.result()
		if want.err == 0 {
			exact++
		}
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 2, 0}} {
			got := float64(terms[order[0]] + terms[order[1]] + terms[order[2]])
			if got != want.v {
				rounded++
			}
			if bound := safety * want.err * 0x1p-24; !(math.Abs(got-want.v) <= bound) {
				t.Fatalf("the sum of %v in the order %v is %v, want %v within %v", terms, order, got, want.v, bound)
			}
		}
	}
	if rounded < 1000 || exact < 1000 {
		t.Errorf("want sums that are rounded and some that are not, got %d and %d", rounded, exact)
	}
}

// TestFarFromKnown checks that bounds of functions hold where a number is known to some units only, such as
// an angle of 1e15: the terms of first order alone are 0 where the slope is.
func TestFarFromKnown(t *testing.T) {
	const unit = 0x1p-53
	for _, name := range []string{"sin", "cos"} {
		for _, by := range []float64{0.01, 0.3, 1, 3, 100} {
			for at := 0.0; at < 2*math.Pi; at += math.Pi / 32 {
				x := depending(0, at)
				x.err = by / (safety * unit)
				got := apply(x, curves[name](at), unit)
				for d := -by; d <= by; d += by / 16 {
					there := curves[name](at + d)
					if off := math.Abs(there.v - got.v); !(off <= safety*unit*got.err*1.001) {
						t.Fatalf("the %s of %v is off by %v at %v beside it: the bound is %v", name, at, off, d, safety*unit*got.err)
					}
					if off := math.Abs(there.first - got.d[0]); !(off <= safety*unit*got.de[0]*1.001) {
						t.Fatalf("the slope of the %s of %v is off by %v at %v beside it: the bound is %v", name, at, off, d, safety*unit*got.de[0])
					}
				}
			}
		}
	}
}

// TestEqualShares checks the gradient of an extreme of many equal terms, each of which has the same
// derivative: it is that derivative.
func TestEqualShares(t *testing.T) {
	for _, n := range []int{3, 256, 1025, 4097} {
		for _, d := range []float64{0.5, -1.75, 0.1} {
			terms := make([]term, n)
			for i := range terms {
				x := depending(0, 2)
				x.d[0] = d
				terms[i] = term{value: realValue(x)}
			}
			got := new(evaluation).most(&expr.Reduce{Kind: reduction.Max}, terms, nil).number()
			if !(math.Abs(got.d[0]-d) <= 2*0x1p-53*math.Abs(d)) {
				t.Errorf("%d equal shares of %v add up to %v", n, d, got.d[0])
			}
		}
	}
}

// TestNearZero checks that bounds of products and of quotients hold where numbers near 0 are known to some
// units only: the terms of first order alone are 0 where a factor is.
func TestNearZero(t *testing.T) {
	const unit, off = 0x1p-53, 1e-3
	for _, at := range []float64{0, 1e-4, 1e-3, 2e-3, 1} {
		x, y := depending(0, at), depending(1, at)
		x.err, y.err = off/(safety*unit), off/(safety*unit)
		x.de[0], y.de[1] = off/(safety*unit), off/(safety*unit)
		p, q := mul(x, y, unit), div(x, y, unit)
		for _, a := range []float64{-off, 0, off} {
			for _, b := range []float64{-off, 0, off} {
				u, v := at+a, at+b
				within := func(name string, got, bound, want float64) {
					if d := math.Abs(got - want); !(d <= safety*unit*bound*1.001) {
						t.Errorf("%s of %v and %v: %v is off by %v at %v and %v: the bound is %v", name, at, at, got, d, u, v, safety*unit*bound)
					}
				}
				within("the product", p.v, p.err, u*v)
				within("its slope", p.d[0], p.de[0], v*(1+a))
				if v != 0 && at != 0 {
					within("the quotient", q.v, q.err, u/v)
					within("its slope by the divisor", q.d[1], q.de[1], -u/v/v*(1+b))
				}
			}
		}
	}
}

// TestUnderflow checks that numbers that f32 rounds to 0 may be equal there, unless they are exact.
func TestUnderflow(t *testing.T) {
	zero, product, constant := number{}, number{v: 0x1p-190, err: 0x1p-190}, number{v: 0x1p-190}
	for _, c := range []struct {
		x    number
		unit float64
		want bool
	}{{product, 0x1p-24, true}, {constant, 0x1p-24, false}, {product, 0x1p-53, false}, {number{v: 0x1p-100, err: 0x1p-100}, 0x1p-24, false}} {
		if got := near(c.x, zero, c.unit); got != c.want {
			t.Errorf("%v near 0 in units of %v: got %v, want %v", c.x.v, c.unit, got, c.want)
		}
	}
}

// TestErf checks the series against the function in Go, which shares nothing with it.
func TestErf(t *testing.T) {
	for x := -3.0; x < 3; x += 1. / 128 {
		if got, want := erf(x), math.Erf(x); !(math.Abs(got-want) <= 8*0x1p-53*math.Abs(want)) {
			t.Errorf("erf(%v): got %v, want %v", x, got, want)
		}
	}
	if got, want := erf(1e-9), math.Erf(1e-9); !(math.Abs(got-want) <= 4*0x1p-53*want) {
		t.Errorf("erf(1e-9): got %v, want %v", got, want)
	}
}

// TestRuns checks that the bound of a derivative covers what rounds alike: equal derivatives that a gradient
// multiplies by a number before it adds them, although their own sum is exact.
func TestRuns(t *testing.T) {
	const unit, factor = 0x1p-53, 0.1
	for _, run := range []int{3, 10, 300, 5000} {
		s, got := new(sum), 0.0
		for i := range 7 {
			for range run {
				x := depending(0, 0)
				x.d[0] = 1 + float64(i)/2
				s.add(x)
				got += factor * x.d[0]
			}
		}
		r := s.result()
		exact := new(big.Float).Mul(big.NewFloat(factor), big.NewFloat(r.d[0]))
		off, _ := new(big.Float).Sub(exact, big.NewFloat(got)).Float64()
		if bound := safety * unit * factor * r.de[0]; !(math.Abs(off) <= bound) {
			t.Errorf("runs of %d: off by %v, the bound is %v", run, off, bound)
		}
	}
}

// TestAsinhOfGreatNumbers compares asinh with that of package math where squares overflow.
func TestAsinhOfGreatNumbers(t *testing.T) {
	for _, x := range []float64{0, 1e-300, 0.5, 3, 1e149, 1e151, 1e200, math.MaxFloat64, math.Inf(1)} {
		for _, x := range []float64{x, -x} {
			got, want := curves["asinh"](x).v, math.Asinh(x)
			if got != want && !(math.Abs(got-want) <= 1e-15*math.Abs(want)) {
				t.Errorf("asinh(%v): got %v, want %v", x, got, want)
			}
		}
	}
}

// TestEndsOfFunctions compares values and slopes of functions with known ones: at infinities, NaN, and the
// largest and the least numbers. Each bound must be a number, except where the slope is infinite or there is
// none.
func TestEndsOfFunctions(t *testing.T) {
	const most, least = math.MaxFloat64, 0x1p-1074
	inf, nan := math.Inf(1), math.NaN()
	bell := 2 / math.Sqrt(math.Pi)
	type at struct{ x, v, slope float64 }
	for name, rows := range map[string][]at{
		"exp":      {{-inf, 0, 0}, {-most, 0, 0}, {least, 1, 1}, {inf, inf, inf}, {nan, nan, nan}},
		"log":      {{0, -inf, inf}, {least, -1074 * math.Ln2, inf}, {most, 1024 * math.Ln2, 0x1p-1024}, {inf, inf, 0}, {-1, nan, -1}, {nan, nan, nan}},
		"sqrt":     {{0, 0, inf}, {least, 0x1p-537, 0x1p536}, {most, 0x1p512, 0x1p-513}, {inf, inf, 0}, {nan, nan, nan}},
		"tanh":     {{-inf, -1, 0}, {-most, -1, 0}, {least, least, 1}, {most, 1, 0}, {inf, 1, 0}, {nan, nan, nan}},
		"sigmoid":  {{-inf, 0, 0}, {-most, 0, 0}, {least, 0.5, 0.25}, {most, 1, 0}, {inf, 1, 0}, {nan, nan, nan}},
		"softplus": {{-inf, 0, 0}, {-most, 0, 0}, {least, math.Ln2, 0.5}, {most, most, 1}, {inf, inf, 1}, {nan, nan, nan}},
		"Phi":      {{-inf, 0, 0}, {-most, 0, 0}, {least, 0.5, bell / math.Sqrt2 / 2}, {most, 1, 0}, {inf, 1, 0}, {nan, nan, nan}},
		"erf":      {{-inf, -1, 0}, {-most, -1, 0}, {least, least, bell}, {most, 1, 0}, {inf, 1, 0}, {nan, nan, nan}},
		"erfc":     {{-inf, 2, 0}, {-most, 2, 0}, {least, 1, -bell}, {most, 0, 0}, {inf, 0, 0}, {nan, nan, nan}},
		"expm1":    {{-inf, -1, 0}, {-most, -1, 0}, {least, least, 1}, {inf, inf, inf}, {nan, nan, nan}},
		"log1p":    {{-1, -inf, inf}, {least, least, 1}, {-least, -least, 1}, {most, 1024 * math.Ln2, 0x1p-1024}, {inf, inf, 0}, {-2, nan, -1}, {nan, nan, nan}},
		"sinh":     {{-inf, -inf, inf}, {least, least, 1}, {710, 1.1169973830808557e308, 1.1169973830808557e308}, {-710, -1.1169973830808557e308, 1.1169973830808557e308}, {most, inf, inf}, {nan, nan, nan}},
		"cosh":     {{-inf, inf, -inf}, {least, 1, least}, {710, 1.1169973830808557e308, 1.1169973830808557e308}, {-710, 1.1169973830808557e308, -1.1169973830808557e308}, {most, inf, inf}, {nan, nan, nan}},
		"asinh":    {{-inf, -inf, 0}, {least, least, 1}, {most, 1025 * math.Ln2, 0x1p-1024}, {-most, -1025 * math.Ln2, 0x1p-1024}, {inf, inf, 0}, {nan, nan, nan}},
		"atanh":    {{-1, -inf, inf}, {least, least, 1}, {1, inf, inf}, {inf, nan, -inf}, {2, nan, -1. / 3}, {nan, nan, nan}},
		"lgamma":   {{10, 12.801827480081469, 2.2517525890667211}, {inf, inf, inf}, {nan, nan, nan}},
		"digamma":  {{1, -0.57721566490153287, math.Pi * math.Pi / 6}, {inf, inf, 0}, {nan, nan, nan}},
		"atan":     {{-inf, -math.Pi / 2, 0}, {-1e10, -math.Pi/2 + 1e-10, 1e-20}, {least, least, 1}, {most, math.Pi / 2, 0}, {inf, math.Pi / 2, 0}, {nan, nan, nan}},
	} {
		for _, r := range rows {
			y := apply(depending(0, r.x), curves[name](r.x), 0x1p-53)
			same := func(got, want float64) bool {
				return got == want || got != got && want != want || math.Abs(got-want) <= 1e-15*math.Abs(want)
			}
			if !same(y.v, r.v) || !same(y.d[0], r.slope) {
				t.Errorf("%s(%v): got %v with the slope %v, want %v with %v", name, r.x, y.v, y.d[0], r.v, r.slope)
			}
			if r.v == r.v && !math.IsInf(r.slope, 0) && (math.IsNaN(y.err) || math.IsNaN(y.de[0])) {
				t.Errorf("%s(%v): got the bounds %v and %v", name, r.x, y.err, y.de[0])
			}
		}
	}
}
