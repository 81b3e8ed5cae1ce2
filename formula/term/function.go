package term

import (
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/rng"
)

// Function is an elementary function of real numbers. Slopes are those of its arguments; nil where nothing flows.
type Function struct {
	Name   string
	Args   int
	Result Kind
	Real   func(x ...float64) float64
	// slope returns the derivative by argument i, given the arguments and the result y.
	Slope func(i int, x []float64, y float64) float64
	// ofResult says that slopes follow from the result alone, so that the arguments need not be kept.
	OfResult bool
	// To is the element type to which convert, which is a function for each type, rounds. Whole is what Real computes as an integer, if that is a type
	// of integers: those of 64 bits are not all numbers of float64.
	To    dtype.Type
	Whole func(x float64) int
}

func one(name string, f func(float64) float64, slope func(x, y float64) float64, ofResult bool) *Function {
	out := &Function{Name: name, Args: 1, Result: Real, Real: func(x ...float64) float64 { return f(x[0]) }, OfResult: ofResult}
	if slope != nil {
		out.Slope = func(_ int, x []float64, y float64) float64 {
			if ofResult {
				return slope(0, y)
			}
			return slope(x[0], y)
		}
	}
	return out
}

// functions are those that formulas apply to numbers. Where a slope has two values, at a kink, it is what PyTorch gives.
var Functions = map[string]*Function{}

func init() {
	for _, f := range []*Function{
		one("exp", math.Exp, func(_, y float64) float64 { return y }, true),
		one("log", math.Log, func(x, _ float64) float64 { return 1 / x }, false),
		one("sqrt", math.Sqrt, func(_, y float64) float64 { return 0.5 / y }, true),
		one("rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, func(_, y float64) float64 { return -0.5 * y * y * y }, true),
		one("sin", math.Sin, func(x, _ float64) float64 { return math.Cos(x) }, false),
		one("cos", math.Cos, func(x, _ float64) float64 { return -math.Sin(x) }, false),
		one("tanh", math.Tanh, func(_, y float64) float64 { return 1 - y*y }, true),
		one("sigmoid", sigmoid, func(_, y float64) float64 { return y * (1 - y) }, true),
		one("Phi", rng.NormalCDF, func(x, _ float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }, false),
		one("erfinv", math.Erfinv, func(_, y float64) float64 { return math.Sqrt(math.Pi) / 2 * math.Exp(y*y) }, true),
		one("expm1", math.Expm1, func(_, y float64) float64 { return y + 1 }, true),
		one("log1p", math.Log1p, func(x, _ float64) float64 { return 1 / (1 + x) }, false),
		one("abs", math.Abs, func(x, _ float64) float64 { return sign(x) }, false),
		one("ceil", math.Ceil, nil, false),
		one("floor", math.Floor, nil, false),
		one("round", math.RoundToEven, nil, false),
		one("sign", sign, nil, false),
		{Name: "isnan", Args: 1, Result: Boolean, Real: func(x ...float64) float64 { return Truth(math.IsNaN(x[0])) }},
		{Name: "pow", Args: 2, Result: Real, Real: func(x ...float64) float64 { return math.Pow(x[0], x[1]) }, Slope: PowerSlope},
		{Name: "max", Args: 2, Result: Real, Real: func(x ...float64) float64 { return max(x[0], x[1]) }},
		{Name: "min", Args: 2, Result: Real, Real: func(x ...float64) float64 { return min(x[0], x[1]) }},
		{Name: "quotient", Args: 2, Result: Integer},
		{Name: "uniform", Args: 3, Result: Real, Real: func(x ...float64) float64 { return source(x).Uniform(uint64(x[2])) }},
		{Name: "normal", Args: 3, Result: Real, Real: func(x ...float64) float64 { return source(x).Normal(uint64(x[2])) }},
	} {
		Functions[f.Name] = f
	}
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

// PowerSlope is the slope of x^y. It is 0 where a factor of 0 meets one that is infinite.
func PowerSlope(i int, x []float64, result float64) float64 {
	if i == 0 {
		if x[1] == 0 {
			return 0
		}
		return x[1] * math.Pow(x[0], x[1]-1)
	}
	if x[0] == 0 && x[1] >= 0 {
		return 0
	}
	return result * math.Log(x[0])
}
