package term

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/rng"
)

// Function is a builtin function of numbers. Its table entry holds all properties that the compiler uses.
// Device code calls function NAME as opgen_NAME of runtime/gpu/formula.cuh.
type Function struct {
	Name   string
	Params string // parameter names for messages; "" if formulas cannot call it
	Args   int
	Result Kind
	Is     Class
	// Real computes the function in float64.
	Real func(x ...float64) float64
	// Derivative returns the partial derivative with respect to parameter i as a term of the arguments x and
	// the result y. It is nil if the derivative is 0. At a kink it is the subgradient that PyTorch chooses.
	Derivative func(i int, x []*Term, y *Term) *Term
	// Unary or Binary is the vector instruction of the function. By expresses a function without a vector
	// instruction in terms of functions with one. Without all three, vector code calls Real for each element.
	Unary  simd.Unary
	Binary simd.Binary
	By     func(x *Term) *Term
	// Integers is the operation that replaces the function if all arguments are integers. It is Constant if
	// there is none.
	Integers Op
	// To is the element type of a conversion; each type has its own conversion. Whole computes a conversion
	// to an integer type, since float64 cannot represent all 64-bit integers.
	To    dtype.Type
	Whole func(x float64) int
	// Keep computes the function of integers whose result is an integer, with all 64 bits. It is nil if
	// integers have a real result.
	Keep func(x ...int) int
	// Draw computes a Random function, which has no Real: float64 cannot represent all seeds.
	Draw func(seed, stream, number int) float64
}

// Class is a set of properties of functions.
type Class uint16

const (
	// Extreme says that the result is one of two arguments: max or min.
	Extreme Class = 1 << iota
	// Exact says that the result is exact in the precision of the arguments, and that the derivative is
	// finite.
	Exact
	// RoundsOnce says that float32(f(x)) in float64 is the correctly rounded float32 result.
	RoundsOnce
	// GivesIntegers says that the result is always an integer.
	GivesIntegers
	// Singular says that the result or the derivative is infinite or NaN at some finite arguments.
	Singular
	// Grows says that the result overflows at moderate arguments, as exp does.
	Grows
	// Series says that the function is computed by a series, a polynomial or digit by digit, so that it costs
	// more than a load.
	Series
	// Random says that the result is a counter-based random number, a function of three integers: seed,
	// stream and number.
	Random
	// Conversion says that the function only rounds to an element type, and does not count as an operation.
	Conversion
	// Underivable says that the derivative is no function of the table, so that no gradient of it can be
	// derived. Formulas cannot call such a function, but the derivative of a function that they can call may.
	Underivable
)

// Has reports whether a function has at least one of the properties in c. A nil function has none.
func (f *Function) Has(c Class) bool { return f != nil && f.Is&c != 0 }

// Usage returns the call of the function with its parameters, for messages.
func (f *Function) Usage() string { return f.Name + "(" + f.Params + ")" }

// of adapts a function of one number to the type of Function.Real.
func of(f func(float64) float64) func(...float64) float64 {
	return func(x ...float64) float64 { return f(x[0]) }
}

// drawing adapts a distribution of package rng to the type of Function.Draw.
func drawing(f func(rng.Source, uint64) float64) func(seed, stream, number int) float64 {
	return func(seed, stream, number int) float64 {
		return f(rng.New(uint64(seed), uint64(stream)), uint64(number))
	}
}

// slope adapts the derivative of a function y = f(x) of one number to the type of Function.Derivative.
func slope(f func(x, y *Term) *Term) func(int, []*Term, *Term) *Term {
	return func(_ int, x []*Term, y *Term) *Term { return f(x[0], y) }
}

// Functions maps names to functions.
var Functions = map[string]*Function{}

// Functions that the compiler refers to by name.
var Max, Min, Abs, Exp, Log, Pow, IsNaN, Normal *Function

var powerOf2 *Function // the function binade

func init() {
	for _, f := range table {
		if f.Args == 0 {
			f.Args, f.Result = 1, Real
		}
		Functions[f.Name] = f
	}
	Max, Min, Abs = Functions["max"], Functions["min"], Functions["abs"]
	Exp, Log = Functions["exp"], Functions["log"]
	powerOf2 = Functions["binade"]
	Pow, IsNaN, Normal = Functions["pow"], Functions["isnan"], Functions["normal"]
}

// table holds all functions but conversions. If Args is absent, the function maps one real number to
// another.
var table = []*Function{
	{Name: "exp", Params: "x", Is: Series | Grows, Real: of(math.Exp), Unary: simd.Exp,
		Derivative: slope(func(_, y *Term) *Term { return y })},
	{Name: "log", Params: "x", Is: Series | Singular, Real: of(logarithm), Unary: simd.Log,
		Derivative: slope(func(x, _ *Term) *Term { return Ratio(Number(1), x) })},
	{Name: "sqrt", Params: "x", Is: Singular | RoundsOnce, Real: of(math.Sqrt), Unary: simd.Sqrt,
		Derivative: slope(func(_, y *Term) *Term { return Ratio(RealNumber(0.5), y) })},
	{Name: "rsqrt", Params: "x", Is: Singular, Unary: simd.Rsqrt,
		Real:       of(func(x float64) float64 { return 1 / math.Sqrt(x) }),
		Derivative: slope(func(_, y *Term) *Term { return Opposite(Product(RealNumber(0.5), Product(y, Product(y, y)))) })},
	// length(scale, sum) is scale * sqrt(sum): the norm of elements whose scaled squares have that sum. Its
	// derivative is 0 where the norm is 0. Its derivative by scale is 0, since scale is detached.
	{Name: "length", Args: 2, Result: Real, Is: Singular,
		Real: func(x ...float64) float64 { return x[0] * math.Sqrt(x[1]) },
		Derivative: func(i int, x []*Term, y *Term) *Term {
			if i == 0 {
				return Number(0)
			}
			return Chosen(Compare(Equal, y, Number(0)), Number(0), Product(Product(RealNumber(0.5), x[0]), Ratio(x[0], y)))
		}},
	{Name: "binade", Is: Exact, Real: of(binade)},
	{Name: "sin", Params: "x", Is: Series, Real: of(math.Sin), Unary: simd.Sin,
		Derivative: slope(func(x, _ *Term) *Term { return Applied("cos", x) })},
	{Name: "cos", Params: "x", Is: Series, Real: of(math.Cos), Unary: simd.Cos,
		Derivative: slope(func(x, _ *Term) *Term { return Opposite(Applied("sin", x)) })},
	{Name: "tanh", Params: "x", Is: Series, Real: of(math.Tanh), Unary: simd.Tanh,
		Derivative: slope(func(_, y *Term) *Term { return Difference(Number(1), Product(y, y)) })},
	{Name: "sigmoid", Params: "x", Is: Series, Real: of(sigmoid), Unary: simd.Sigmoid,
		Derivative: slope(func(_, y *Term) *Term { return Product(y, Difference(Number(1), y)) })},
	{Name: "Phi", Params: "x", Is: Series, Real: of(rng.NormalCDF), Unary: simd.Phi,
		Derivative: slope(func(x, _ *Term) *Term {
			return Ratio(Applied("exp", Opposite(Ratio(Product(x, x), Number(2)))), RealNumber(math.Sqrt(2*math.Pi)))
		})},
	{Name: "density", Is: Series, Unary: simd.Density, // of the standard normal distribution
		Real: of(func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }),
		Derivative: slope(func(x, y *Term) *Term {
			return Chosen(Compare(Equal, y, Number(0)), Number(0), Opposite(Product(x, y))) // also of an infinite x
		})},
	{Name: "tan", Params: "x", Is: Series, Real: of(math.Tan),
		By:         func(x *Term) *Term { return Ratio(Applied("sin", x), Applied("cos", x)) },
		Derivative: slope(func(_, y *Term) *Term { return Sum(Number(1), Product(y, y)) })},
	{Name: "asin", Params: "x", Is: Series | Singular, Real: of(math.Asin),
		Derivative: slope(func(x, _ *Term) *Term { return Applied("rsqrt", oneLessSquare(x)) })},
	{Name: "acos", Params: "x", Is: Series | Singular, Real: of(math.Acos),
		Derivative: slope(func(x, _ *Term) *Term { return Opposite(Applied("rsqrt", oneLessSquare(x))) })},
	{Name: "atan", Params: "x", Is: Series, Real: of(math.Atan),
		Derivative: slope(func(x, _ *Term) *Term { return Ratio(Number(1), Sum(Number(1), Product(x, x))) })},
	{Name: "atan2", Params: "y, x", Args: 2, Result: Real, Is: Series,
		Real: func(x ...float64) float64 { return math.Atan2(x[0], x[1]) }, Derivative: angleSlope},
	{Name: "sinh", Params: "x", Is: Series | Grows, Real: of(sinh), By: hyperbolicSine,
		Derivative: slope(func(x, _ *Term) *Term { return Applied("cosh", x) })},
	{Name: "cosh", Params: "x", Is: Series | Grows, Real: of(cosh), By: hyperbolicCosine,
		Derivative: slope(func(x, _ *Term) *Term { return Applied("sinh", x) })},
	{Name: "asinh", Params: "x", Is: Series, Real: of(math.Asinh), By: inverseSine,
		Derivative: slope(func(x, _ *Term) *Term { return Ratio(Number(1), Applied("hypot", RealNumber(1), x)) })},
	{Name: "atanh", Params: "x", Is: Series | Singular, Real: of(math.Atanh),
		By: func(x *Term) *Term {
			a := Applied("abs", x)
			odds := Ratio(Product(Number(2), a), Difference(Number(1), a))
			return Product(Product(RealNumber(0.5), Applied("sign", x)), Applied("log1p", odds))
		},
		Derivative: slope(func(x, _ *Term) *Term { return Ratio(Number(1), oneLessSquare(x)) })},
	{Name: "softplus", Params: "x", Is: Series, Real: of(softplus),
		By: func(x *Term) *Term {
			return Sum(Applied("max", x, RealNumber(0)), Applied("log1p", Applied("exp", Opposite(Applied("abs", x)))))
		},
		Derivative: slope(func(x, _ *Term) *Term { return Applied("sigmoid", x) })},
	{Name: "lgamma", Params: "x", Is: Series | Singular, Real: of(logGamma),
		Derivative: slope(func(x, _ *Term) *Term { return Applied("digamma", x) })},
	{Name: "digamma", Params: "x", Is: Series | Singular, Real: of(digamma),
		Derivative: slope(func(x, _ *Term) *Term { return Applied("trigamma", x) })},
	{Name: "trigamma", Is: Series | Singular | Underivable, Real: of(trigamma),
		Derivative: slope(func(_, _ *Term) *Term { return RealNumber(math.NaN()) })},
	{Name: "erf", Params: "x", Is: Series, Real: of(math.Erf),
		Derivative: slope(func(x, _ *Term) *Term {
			return Product(RealNumber(2/math.Sqrt(math.Pi)), Applied("exp", Opposite(Product(x, x))))
		})},
	{Name: "erfc", Params: "x", Is: Series, Real: of(math.Erfc),
		Derivative: slope(func(x, _ *Term) *Term {
			return Product(RealNumber(-2/math.Sqrt(math.Pi)), Applied("exp", Opposite(Product(x, x))))
		})},
	{Name: "erfinv", Params: "x", Is: Series | Singular, Real: of(math.Erfinv),
		Derivative: slope(func(_, y *Term) *Term {
			return Product(RealNumber(math.Sqrt(math.Pi)/2), Applied("exp", Product(y, y)))
		})},
	{Name: "expm1", Params: "x", Is: Series | Grows, Real: of(math.Expm1), Unary: simd.Expm1,
		Derivative: slope(func(x, _ *Term) *Term { return Applied("exp", x) })},
	{Name: "log1p", Params: "x", Is: Series | Singular, Real: of(math.Log1p), Unary: simd.Log1p,
		Derivative: slope(func(x, _ *Term) *Term { return Ratio(Number(1), Sum(Number(1), x)) })},
	{Name: "abs", Params: "x", Is: Exact, Real: of(math.Abs), Keep: func(x ...int) int { return max(x[0], -x[0]) }, Unary: simd.Abs,
		Derivative: slope(func(x, _ *Term) *Term { return Applied("sign", x) })},
	{Name: "ceil", Params: "x", Is: Exact | GivesIntegers, Real: of(math.Ceil), Unary: simd.Ceil},
	{Name: "floor", Params: "x", Is: Exact | GivesIntegers, Real: of(math.Floor), Unary: simd.Floor},
	{Name: "round", Params: "x", Is: Exact | GivesIntegers, Real: of(math.RoundToEven), Unary: simd.Round},
	{Name: "sign", Params: "x", Is: Exact, Real: of(sign), Unary: simd.Sign},
	{Name: "isnan", Params: "x", Args: 1, Result: Boolean, Unary: simd.IsNaN,
		Real: of(func(x float64) float64 { return Truth(math.IsNaN(x)) })},
	{Name: "pow", Params: "x, y", Args: 2, Result: Real, Is: Series | Singular, Binary: simd.Pow, Integers: Power,
		Real: func(x ...float64) float64 { return math.Pow(x[0], x[1]) }, Derivative: powerSlope},
	{Name: "hypot", Params: "x, y", Args: 2, Result: Real, Is: Series,
		Real:       func(x ...float64) float64 { return math.Hypot(x[0], x[1]) },
		Derivative: lengthSlope},
	{Name: "fmod", Params: "x, y", Args: 2, Result: Real, Is: Series | Singular | RoundsOnce,
		Real: func(x ...float64) float64 { return remainder(x[0], x[1]) }, Derivative: remainderSlope},
	{Name: "max", Params: "x, y, ...", Args: 2, Result: Real, Is: Extreme | Exact, Binary: simd.Max,
		Real: func(x ...float64) float64 { return max(x[0], x[1]) }, Keep: func(x ...int) int { return max(x[0], x[1]) }},
	{Name: "min", Params: "x, y, ...", Args: 2, Result: Real, Is: Extreme | Exact, Binary: simd.Min,
		Real: func(x ...float64) float64 { return min(x[0], x[1]) }, Keep: func(x ...int) int { return min(x[0], x[1]) }},
	{Name: "quotient", Params: "x, y", Args: 2, Result: Integer, Integers: Truncate},
	{Name: "uniform", Params: "seed, stream, number", Args: 3, Result: Real, Is: Random, Draw: drawing(rng.Source.Uniform)},
	{Name: "normal", Params: "seed, stream, number", Args: 3, Result: Real, Is: Random, Draw: drawing(rng.Source.Normal)},
}

// IsBinade reports whether n is a power of 2 that function binade computes: it is finite and not 0.
func (n *Term) IsBinade() bool {
	return n.Op == Apply && n.Func == powerOf2 || n.Op == Element && n.Read.Binade
}

// Converting returns the function that converts a number to an element type. k is the kind of the result:
// whole computes it if k is Integer, else real.
func Converting(to dtype.Type, k Kind, real func(float64) float64, whole func(float64) int) *Function {
	return &Function{Name: "convert", Args: 1, Result: k, Is: Conversion, To: to, Real: of(real), Whole: whole,
		Derivative: slope(func(_, _ *Term) *Term { return Number(1) })}
}

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// logarithm returns the natural logarithm. On amd64, that of package math is wrong for denormal numbers.
func logarithm(x float64) float64 {
	if 0 < x && x < 0x1p-1022 {
		return math.Log(x*0x1p52) - 52*math.Ln2
	}
	return math.Log(x)
}

// sinh returns the hyperbolic sine. It is correct also where e^|x| overflows but e^|x| / 2 does not.
func sinh(x float64) float64 {
	if math.Abs(x) > 700 {
		return math.Copysign(cosh(x), x)
	}
	return math.Sinh(x)
}

// cosh returns the hyperbolic cosine, for large |x| as sinh does.
func cosh(x float64) float64 {
	if math.Abs(x) > 700 {
		root := math.Exp(math.Abs(x) / 2)
		return 0.5 * root * root
	}
	return math.Cosh(x)
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// binade returns the greatest power of 2 that is <= |x|, or 1 if x is 0, infinite or NaN.
func binade(x float64) float64 {
	if x == 0 || x-x != 0 {
		return 1
	}
	_, e := math.Frexp(x)
	return math.Ldexp(0.5, e)
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// Truth converts a condition to a number: 1 if it holds, else 0.
func Truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// powerSlope returns the partial derivative of x^y by argument i. The derivative by y is 0 at x = 0, y >= 0,
// where x^y * log(x) would be 0 * -Inf, and at an infinite x whose power is 0. The derivative by x is 0 at an
// infinite y where the power is 0.
func powerSlope(i int, args []*Term, _ *Term) *Term {
	x, y := args[0], args[1]
	power := func(y *Term) *Term { return &Term{Op: Power, Kind: Real, Args: []*Term{x, y}} }
	if i == 1 {
		zero := Either(Both(Compare(Equal, x, Number(0)), Compare(AtMost, Number(0), y)),
			Both(Compare(Equal, x, RealNumber(math.Inf(1))), Compare(Less, y, Number(0))))
		return Chosen(zero, Number(0), Product(power(y), Applied("log", x)))
	}
	general := func() *Term { return Product(y, power(Difference(y, Number(1)))) }
	if known := y.Op == Constant; !known || math.IsInf(y.Value(), 0) {
		zero := Compare(Equal, y, Number(0))
		if known || y.Kind == Real && y.Reads() {
			falls := Product(y, Difference(Applied("abs", x), Number(1))) // -Inf where the power is 0 for an infinite y
			zero = Either(zero, Compare(Equal, falls, RealNumber(math.Inf(-1))))
		}
		return Chosen(zero, Number(0), general())
	}
	switch y.Value() {
	case 0:
		return Number(0)
	case 1:
		return Number(1)
	case 2:
		return Product(y, x)
	}
	return general()
}

// remainder returns x - y * n, where n is x / y rounded towards 0, like fmod of C: the result has the sign of
// x and no rounding error. It is x for an infinite y, and NaN for an infinite x and for y = 0.
func remainder(x, y float64) float64 {
	const whole = 1 << 53 // up to here, a quotient has its integers
	a, b := math.Abs(x), math.Abs(y)
	if a < b {
		return x
	}
	n := math.Trunc(a / b)
	if !(n < whole) {
		return math.Mod(x, y)
	}
	r := math.FMA(-n, b, a)
	if r < 0 { // the quotient was rounded up to an integer
		r += b
	}
	return math.Copysign(r, x)
}

// remainderSlope returns the partial derivative of r = fmod(x, y) by argument i: 1 by x, and -n by y, where r
// = x - y * n. It computes n from r, since x / y may be rounded up to the next integer.
func remainderSlope(i int, args []*Term, r *Term) *Term {
	if i == 0 {
		return Number(1)
	}
	return Opposite(Applied("round", Ratio(Difference(args[0], r), args[1])))
}

// oneLessSquare returns 1 - x^2 as (1 - x) * (1 + x), which is precise for x near 1.
func oneLessSquare(x *Term) *Term {
	return Product(Difference(Number(1), x), Sum(Number(1), x))
}

// infinite returns the condition that x is infinite.
func infinite(x *Term) *Term {
	return Compare(Equal, Applied("abs", x), RealNumber(math.Inf(1)))
}

// lengthSlope returns the partial derivative of length = hypot(x, y) by argument i: a component of the unit
// vector, and 0 for the zero vector. The limit at infinite sides follows atan2: one infinite side is the
// whole direction, and two share it.
func lengthSlope(i int, args []*Term, length *Term) *Term {
	side, other := args[i], args[1-i]
	sign := Applied("sign", side)
	far := Chosen(infinite(other), Product(RealNumber(math.Sqrt(0.5)), sign), sign)
	return Chosen(Compare(Equal, length, Number(0)), Number(0), Chosen(infinite(side), far, Ratio(side, length)))
}

// angleSlope returns the partial derivative of atan2(y, x) by argument i. It divides twice by the length of
// the vector, since the square of the length may overflow. It is 0 for the zero vector and for infinite
// vectors.
func angleSlope(i int, args []*Term, _ *Term) *Term {
	length := Applied("hypot", args[0], args[1])
	side := args[1]
	if i == 1 {
		side = Opposite(args[0])
	}
	none := Either(Compare(Equal, length, Number(0)), Compare(Equal, length, RealNumber(math.Inf(1))))
	return Chosen(none, Number(0), Ratio(Ratio(side, length), length))
}

// inverseSine returns asinh(x) in terms of functions with vector code. From 2^30 on, it is log(2|x|), since
// squares may overflow and both formulas are equal there.
func inverseSine(x *Term) *Term {
	const far = 1 << 30
	a := Applied("abs", x)
	m := Applied("min", a, RealNumber(far))
	square := Product(m, m)
	near := Applied("log1p", Sum(m, Ratio(square, Sum(Number(1), Applied("sqrt", Sum(Number(1), square))))))
	log := Sum(Applied("log", a), RealNumber(math.Ln2))
	return Product(Applied("sign", x), Chosen(Compare(AtMost, RealNumber(far), a), log, near))
}

// hyperbolicSine returns sinh(x) in terms of functions with vector code. For |x| below 1 it uses e^x - 1,
// which is precise. For greater |x| it uses sqrt(e^|x|), which does not overflow before the result does.
func hyperbolicSine(x *Term) *Term {
	a := Applied("abs", x)
	e := Applied("expm1", Applied("min", a, RealNumber(1)))
	near := Product(RealNumber(0.5), Sum(e, Ratio(e, Sum(e, Number(1)))))
	root := Applied("exp", Product(RealNumber(0.5), a))
	far := Difference(Product(Product(RealNumber(0.5), root), root), Ratio(Ratio(RealNumber(0.5), root), root))
	return Product(Applied("sign", x), Chosen(Compare(Less, a, Number(1)), near, far))
}

// hyperbolicCosine returns cosh(x) in terms of functions with vector code, as hyperbolicSine does for greater
// |x|.
func hyperbolicCosine(x *Term) *Term {
	root := Applied("exp", Product(RealNumber(0.5), Applied("abs", x)))
	return Sum(Product(Product(RealNumber(0.5), root), root), Ratio(Ratio(RealNumber(0.5), root), root))
}

// JoinOf returns the combiner of two elements of a reduction, and its function if the combiner is Apply. It
// returns Constant if no operation combines them.
func JoinOf(k reduction.Kind) (Op, *Function) {
	switch {
	case k.Is(reduction.Extreme):
		return Apply, Functions[k.String()]
	case k == reduction.Sum:
		return Add, nil
	case k == reduction.Prod:
		return Multiply, nil
	}
	return Constant, nil
}

// Operands flattens nested calls of f: those of max(a, max(b, c)) are a, b and c. It returns n alone if n is
// no call of f.
func Operands(n *Term, f *Function) []*Term {
	var out []*Term
	var visit func(m *Term)
	visit = func(m *Term) {
		if m.Op != Apply || m.Func != f || m.Kind != n.Kind {
			out = append(out, m)
			return
		}
		visit(m.Args[0])
		visit(m.Args[1])
	}
	visit(n)
	return out
}
