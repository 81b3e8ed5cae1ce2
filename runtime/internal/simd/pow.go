package simd

import "math"

var double = elementaryOf[float64]()

// pow returns x^y, with the special values of math.Pow. It computes in float64, with a logarithm of some more bits.
func pow[T Float](x, y T) T { return T(pow64(float64(x), float64(y))) }

func pow64(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return math.NaN()
	case y == 1:
		return x
	}
	whole, odd := parity(y)
	switch {
	case x == 0 || math.IsInf(x, 0):
		z := 0.0
		if (x == 0) == (y < 0) {
			z = math.Inf(1)
		}
		if odd {
			z = math.Copysign(z, x)
		}
		return z
	case math.IsInf(y, 0):
		switch {
		case x == -1:
			return 1
		case (abs(x) > 1) == (y > 0):
			return math.Inf(1)
		}
		return 0
	case x < 0 && !whole:
		return math.NaN()
	}
	l := longLog(abs(x)).times(pair{y, 0})
	z := 0.0
	switch {
	case l.high > double.expHigh:
		z = math.Inf(1)
	case l.high >= double.expLow:
		n, e := double.reduceSum(l.high, l.low)
		z = double.scale(e+1, n)
	}
	if x < 0 && odd {
		return -z
	}
	return z
}

// parity reports whether y is an integer, and whether it is odd.
func parity(y float64) (whole, odd bool) {
	switch {
	case math.IsInf(y, 0) || y != math.Floor(y):
		return false, false
	case abs(y) >= 1<<53:
		return true, false
	}
	return true, int64(y)&1 != 0
}
