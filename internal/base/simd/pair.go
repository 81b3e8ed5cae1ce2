package simd

import "github.com/opgen/opgen/internal/base/simd/approx"

// pair is a sum of two numbers, of which the second is small. It has about twice as many bits as one.
type pair struct{ high, low float64 }

// plus returns a + b, where the greater part of b is not greater than that of a, or a is 0.
func (a pair) plus(b pair) pair {
	sum := a.high + b.high
	return normal(sum, (a.high-sum+b.high)+(a.low+b.low))
}

func (a pair) times(b pair) pair {
	p, over := multiply(a.high, b.high)
	return normal(p, float64(a.high*b.low)+float64(a.low*b.high)-over)
}

// scaled returns y * a.
func (a pair) scaled(y float64) pair {
	p, over := multiply(a.high, y)
	return normal(p, float64(a.low*y)-over)
}

// inverse returns 1/a, rounded.
func (a pair) inverse() float64 {
	q := 1 / a.high
	rest := fma64(-q, a.high, 1) - float64(q*a.low)
	return fma64(q, rest, q)
}

// normal returns high + low, as a pair whose first number is the sum rounded.
func normal(high, low float64) pair {
	sum := high + low
	return pair{sum, high - sum + low}
}

// multiply returns the rounded product of x and y, and by how much it is above the product.
func multiply(x, y float64) (p, over float64) {
	p = float64(x * y)
	return p, fma64(-x, y, p)
}

// longLog returns the logarithm of x > 0.
func longLog(x float64) pair {
	exponent, f := double.split(x)
	sum := f + 2
	q := f / sum
	p, over := multiply(q, sum)
	s := pair{q, (f - p + over - float64(q*(f-(sum-2)))) / sum} // f/(f + 2)
	z := s.times(s)
	small := float64(z.high * polynomial(approx.LongLog[:], z.high))
	l := pair{approx.LongLogHigh, approx.LongLogLow}.plus(pair{small, 0})
	l = pair{2 * s.high, 2 * s.low}.plus(s.times(z.times(l)))
	return pair{float64(exponent * double.ln2High), float64(exponent * double.ln2Low)}.plus(l)
}
