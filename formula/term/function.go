package term

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/rng"
)

// Function is an elementary function. Its entry in the table below is all that the compiler knows of it.
// Device code of the function NAME is opgen_NAME in runtime/gpu/formula.cuh.
type Function struct {
	Name   string
	Params string // the names of its parameters in messages; empty if formulas cannot call it
	Args   int
	Result Kind
	Is     Class
	// Real computes the function of real numbers in float64.
	Real func(x ...float64) float64
	// Derivative returns the partial derivative with respect to parameter i, given the arguments and the
	// result y. It is nil for a function whose derivative is 0. At a kink, where there are two, it is the one
	// of PyTorch.
	Derivative func(i int, x []*Term, y *Term) *Term
	// Unary or Binary is the vector code of the function. Functions without any are computed one by one, in
	// float64.
	Unary  simd.Unary
	Binary simd.Binary
	// Integers is the operation that the function is if all arguments are integers; Constant if there is
	// none.
	Integers Op
	// To is the element type to which a conversion rounds: there is a function for each. Whole is what Real
	// computes as an integer if that type is one of integers: those of 64 bits are not all numbers of
	// float64.
	To    dtype.Type
	Whole func(x float64) int
}

// Class is a set of properties of functions.
type Class uint16

const (
	// Extreme says that the result is one of two arguments: the greater or the less one.
	Extreme Class = 1 << iota
	// Exact says that the result needs no rounding if the arguments need none, and that no slope is infinite.
	Exact
	// RoundsOnce says that a result in float64, rounded to float32, is the rounded result.
	RoundsOnce
	// KeepsIntegers says that the result of integers is an integer.
	KeepsIntegers
	// GivesIntegers says that all results are integers.
	GivesIntegers
	// Singular says that the result or its slope is infinite or NaN for some real numbers.
	Singular
	// Grows says that the result overflows for numbers that are far below the greatest one.
	Grows
	// Series says that the function takes a series of operations, and so longer than a load.
	Series
	// Random says that the result is a random number, of a seed, a stream and a number, which are integers.
	Random
	// Conversion says that the function rounds to an element type, which is no operation of its own.
	Conversion
)

// Has reports whether a function has one of some properties; no function has none.
func (f *Function) Has(c Class) bool { return f != nil && f.Is&c != 0 }

// Usage returns how a formula calls the function.
func (f *Function) Usage() string { return f.Name + "(" + f.Params + ")" }

// of returns a function of one number.
func of(f func(float64) float64) func(...float64) float64 {
	return func(x ...float64) float64 { return f(x[0]) }
}

// slope returns the derivative of a function of one number x, whose result is y.
func slope(f func(x, y *Term) *Term) func(int, []*Term, *Term) *Term {
	return func(_ int, x []*Term, y *Term) *Term { return f(x[0], y) }
}

// Functions holds the functions by their names.
var Functions = map[string]*Function{}

// The functions that parts of the compiler ask for.
var Max, Min, Abs, Exp, Log, Pow, IsNaN, Normal *Function

func init() {
	for _, f := range table {
		if f.Args == 0 {
			f.Args, f.Result = 1, Real
		}
		Functions[f.Name] = f
	}
	Max, Min, Abs = Functions["max"], Functions["min"], Functions["abs"]
	Exp, Log = Functions["exp"], Functions["log"]
	Pow, IsNaN, Normal = Functions["pow"], Functions["isnan"], Functions["normal"]
}

// table holds each function but conversions. An entry without a number of arguments is of one number, and
// gives one.
var table = []*Function{
	{Name: "exp", Params: "x", Is: Series | Grows, Real: of(math.Exp), Unary: simd.Exp,
		Derivative: slope(func(_, y *Term) *Term { return y })},
	{Name: "log", Params: "x", Is: Series | Singular, Real: of(math.Log), Unary: simd.Log,
		Derivative: slope(func(x, _ *Term) *Term { return Ratio(Number(1), x) })},
	{Name: "sqrt", Params: "x", Is: Singular | RoundsOnce, Real: of(math.Sqrt), Unary: simd.Sqrt,
		Derivative: slope(func(_, y *Term) *Term { return Ratio(RealNumber(0.5), y) })},
	{Name: "rsqrt", Params: "x", Is: Singular, Unary: simd.Rsqrt,
		Real:       of(func(x float64) float64 { return 1 / math.Sqrt(x) }),
		Derivative: slope(func(_, y *Term) *Term { return Opposite(Product(RealNumber(0.5), Product(y, Product(y, y)))) })},
	// A scale times the root of a sum of squares: a norm, whose slope is 0 where the norm is 0. No gradient
	// flows through the scale.
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
		Real:       of(func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }),
		Derivative: slope(func(x, y *Term) *Term { return Opposite(Product(x, y)) })},
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
	{Name: "abs", Params: "x", Is: Exact | KeepsIntegers, Real: of(math.Abs), Unary: simd.Abs,
		Derivative: slope(func(x, _ *Term) *Term { return Applied("sign", x) })},
	{Name: "ceil", Params: "x", Is: Exact | GivesIntegers, Real: of(math.Ceil), Unary: simd.Ceil},
	{Name: "floor", Params: "x", Is: Exact | GivesIntegers, Real: of(math.Floor), Unary: simd.Floor},
	{Name: "round", Params: "x", Is: Exact | GivesIntegers, Real: of(math.RoundToEven), Unary: simd.Round},
	{Name: "sign", Is: Exact, Real: of(sign), Unary: simd.Sign},
	{Name: "isnan", Params: "x", Args: 1, Result: Boolean, Unary: simd.IsNaN,
		Real: of(func(x float64) float64 { return Truth(math.IsNaN(x)) })},
	{Name: "pow", Params: "x, y", Args: 2, Result: Real, Is: Series | Singular, Binary: simd.Pow, Integers: Power,
		Real: func(x ...float64) float64 { return math.Pow(x[0], x[1]) }, Derivative: powerSlope},
	{Name: "hypot", Params: "x, y", Args: 2, Result: Real, Is: Series,
		Real: func(x ...float64) float64 { return math.Hypot(x[0], x[1]) },
		Derivative: func(i int, x []*Term, y *Term) *Term {
			return Chosen(Compare(Equal, y, Number(0)), Number(0), Ratio(x[i], y))
		}},
	{Name: "max", Params: "x, y, ...", Args: 2, Result: Real, Is: Extreme | Exact | KeepsIntegers, Binary: simd.Max,
		Real: func(x ...float64) float64 { return max(x[0], x[1]) }},
	{Name: "min", Params: "x, y, ...", Args: 2, Result: Real, Is: Extreme | Exact | KeepsIntegers, Binary: simd.Min,
		Real: func(x ...float64) float64 { return min(x[0], x[1]) }},
	{Name: "quotient", Params: "x, y", Args: 2, Result: Integer, Integers: Truncate},
	{Name: "uniform", Params: "seed, stream, number", Args: 3, Result: Real, Is: Random,
		Real: func(x ...float64) float64 { return source(x).Uniform(uint64(x[2])) }},
	{Name: "normal", Params: "seed, stream, number", Args: 3, Result: Real, Is: Random,
		Real: func(x ...float64) float64 { return source(x).Normal(uint64(x[2])) }},
}

// Converting returns the function that rounds to an element type, as real does. The result is of a kind: if
// that is Integer, whole computes it.
func Converting(to dtype.Type, k Kind, real func(float64) float64, whole func(float64) int) *Function {
	return &Function{Name: "convert", Args: 1, Result: k, Is: Conversion, To: to, Real: of(real), Whole: whole,
		Derivative: slope(func(_, _ *Term) *Term { return Number(1) })}
}

// source is the stream of random numbers of a seed and a step.
func source(x []float64) rng.Source { return rng.New(uint64(int64(x[0])), uint64(x[1])) }

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// binade returns the greatest power of 2 that is not above |x|, and 1 if x is 0, infinite or NaN.
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

func Truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// powerSlope is the derivative of x^y. That by y is 0 where a factor of 0 meets one that is infinite.
func powerSlope(i int, args []*Term, _ *Term) *Term {
	x, y := args[0], args[1]
	power := func(y *Term) *Term { return &Term{Op: Power, Kind: Real, Args: []*Term{x, y}} }
	if i == 1 {
		zero := Both(Compare(Equal, x, Number(0)), Compare(AtMost, Number(0), y))
		return Chosen(zero, Number(0), Product(power(y), Applied("log", x)))
	}
	general := func() *Term { return Product(y, power(Difference(y, Number(1)))) }
	if y.Op != Constant {
		return Chosen(Compare(Equal, y, Number(0)), Number(0), general())
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

// JoinOf returns the operation of two elements that a kind of reductions repeats, and the function if that is
// Apply. Kinds that repeat none have Constant.
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

// Operands lists the numbers of which an extreme of extremes is one; n itself if it is no such value of f.
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
