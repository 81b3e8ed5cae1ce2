package simd

import (
	"math"

	"github.com/opgen/opgen/internal/base/simd/approx"
)

// elementary computes elementary functions of one element. The assembly does the same operations in the same
// order. Conversions of products keep the compiler from fusing them with sums.
type elementary[T Float] struct {
	*approx.Constants
	magic, expLow, expHigh, expm1Low, log2e, ln2High, ln2Low T
	twoByPi                                                  T
	halfPi                                                   [4]T
	exps, logs, sins, coss, phis, bells                      []T
}

// elementaryOf returns the functions for the constants of T.
func elementaryOf[T Float]() *elementary[T] {
	c := &approx.Single
	if _, wide := any(T(0)).(float64); wide {
		c = &approx.Double
	}
	e := &elementary[T]{
		Constants: c,
		magic:     T(c.Magic), expLow: T(c.ExpLow), expHigh: T(c.ExpHigh), expm1Low: T(c.Expm1Low), log2e: T(c.Log2E),
		ln2High: T(c.Ln2High), ln2Low: T(c.Ln2Low), twoByPi: T(c.TwoByPi),
		exps: numbers[T](c.Exp), logs: numbers[T](c.Log), sins: numbers[T](c.Sin), coss: numbers[T](c.Cos),
		phis: numbers[T](c.Phi), bells: numbers[T](c.Density),
	}
	for i, v := range c.HalfPi {
		e.halfPi[i] = T(v)
	}
	return e
}

func numbers[T Float](x []float64) []T {
	out := make([]T, len(x))
	for i, v := range x {
		out[i] = T(v)
	}
	return out
}

// bits returns the bits of an element, and fromBits an element of bits, of which those beyond its size do not
// count.
func (c *elementary[T]) bits(x T) uint64 {
	if c.Mantissa == 23 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(float64(x))
}

func (c *elementary[T]) fromBits(b uint64) T {
	if c.Mantissa == 23 {
		return T(math.Float32frombits(uint32(b)))
	}
	return T(math.Float64frombits(b))
}

func abs[T Float](x T) T { return T(math.Abs(float64(x))) }

func (c *elementary[T]) withSign(x, sign T) T { return T(math.Copysign(float64(x), float64(sign))) }

// power returns 2^n for an integer n that is an exponent of T.
func (c *elementary[T]) power(n T) T {
	return c.fromBits(c.bits(n+c.magic)<<c.Mantissa + uint64(c.Bias)<<c.Mantissa)
}

// scale returns x * 2^n, rounded once. It multiplies by two powers, since 2^n may be too small or too large.
func (c *elementary[T]) scale(x, n T) T {
	half := T(n*0.5) + c.magic - c.magic
	return T(x*c.power(half)) * c.power(n-half)
}

// reduce returns an integer n and e^r - 1, where x = n*log(2) + r.
func (c *elementary[T]) reduce(x T) (n, e T) {
	n = fma(x, c.log2e, c.magic) - c.magic
	return n, c.grow(c.remainder(x, n))
}

// reduceDifference is reduce for x - y, where y is small.
func (c *elementary[T]) reduceDifference(x, y T) (n, e T) {
	n = fma(x, c.log2e, c.magic) - c.magic
	return n, c.grow(c.remainder(x, n) - y)
}

// remainder returns x - n*log(2).
func (c *elementary[T]) remainder(x, n T) T { return fma(-n, c.ln2Low, fma(-n, c.ln2High, x)) }

// grow returns e^r - 1 for |r| <= log(2)/2.
func (c *elementary[T]) grow(r T) T { return fma(T(r*r), polynomial(c.exps, r), r) }

func (c *elementary[T]) exp(x T) T {
	if x < c.expLow {
		x = c.expLow
	}
	if x > c.expHigh {
		x = c.expHigh
	}
	n, e := c.reduce(x)
	return c.scale(e+1, n)
}

func (c *elementary[T]) expm1(x T) T {
	y := x
	if y < c.expm1Low {
		y = c.expm1Low
	}
	if y > c.expHigh {
		y = c.expHigh
	}
	n, e := c.reduce(y)
	half := c.power(n - 1) // half of 2^n, which may be too large
	return c.withSign(2*fma(e, half, half-0.5), x)
}

func (c *elementary[T]) log1p(x T) T {
	u := x + 1
	lost := x - (u - 1)
	y := c.log(u)
	if lost < 0 || lost > 0 { // not the difference of infinities
		y += lost / u
	}
	return c.withSign(y, x)
}

func (c *elementary[T]) tanh(x T) T {
	y := abs(x)
	if y > T(c.TanhHigh) {
		y = T(c.TanhHigh)
	}
	n, e := c.reduce(-2 * y)
	p := c.power(n)
	t := T(e * p)
	return c.withSign(((1-p)-t)/((1+p)+t), x)
}

func (c *elementary[T]) sigmoid(x T) T {
	y := -abs(x)
	if y < c.expLow {
		y = c.expLow
	}
	n, e := c.reduce(y)
	sum := e + 1
	p := c.scale(sum, n)
	q := p + 1
	if x >= 0 {
		return 1 / q
	}
	// What was lost in the two sums changes the quotient by up to its last place.
	lost := (e - (sum - 1)) - (p - (q - 1))
	z := p / q
	return fma(T(lost*(1-z)), z, z)
}

// bell returns an integer n and y, such that (y + rest) * 2^n is the density of the standard normal
// distribution at t >= 0. The square of t is not rounded.
func (c *elementary[T]) bell(t T) (n, y, rest T) {
	square := T(t * t)
	n = fma(square, c.log2e*-0.5, c.magic) - c.magic
	r := fma(n, 2*c.ln2High, square) - fma(-n, 2*c.ln2Low, fma(-t, t, square))
	top := T(c.DensityTop)
	e := fma(r, top*-0.5, fma(T(r*r), chain(c.bells, r), T(c.DensityRest)))
	y = e + top
	return n, y, e - (y - top)
}

func (c *elementary[T]) density(x T) T {
	t := abs(x)
	if t > T(c.DensityHigh) {
		t = T(c.DensityHigh)
	}
	n, y, _ := c.bell(t)
	return c.scale(y, n)
}

func (c *elementary[T]) phi(x T) T {
	t := abs(x)
	if t > T(c.PhiHigh) {
		t = T(c.PhiHigh)
	}
	u := (t - T(c.PhiZero)) / (t + T(c.PhiPole))
	factor, start := chain(c.phis[1:], u), t+c.phis[0]
	sum := fma(factor, u, start)
	lost := fma(factor, u, start-sum) - (start - t - c.phis[0] - T(c.PhiRest))
	n, y, rest := c.bell(t)
	tail := y / sum
	// What was lost in sum and y changes tail by about the last place.
	tail = fma(fma(-tail, lost, rest), c.fromBits(c.Inverse-c.bits(sum)), tail)
	tail = c.scale(tail, n)
	if x > 0 {
		return 1 - tail
	}
	return tail
}

func (c *elementary[T]) log(x T) T {
	exponent, f := c.split(x)
	y := c.logarithm(exponent, f)
	switch {
	case x < 0:
		return T(math.NaN())
	case x == 0:
		return T(math.Inf(-1))
	case x < T(math.Inf(1)):
		return y
	}
	return x
}

// logarithm returns the logarithm of (1 + f) * 2^exponent.
func (c *elementary[T]) logarithm(exponent, f T) T {
	s := f / (f + 2)
	z := T(s * s)
	square := T(T(f*0.5) * f)
	r := fma(z, polynomial(c.logs, z), square)
	return fma(exponent, c.ln2High, f-(square-fma(s, r, T(exponent*c.ln2Low))))
}

// split returns an integer and f, such that x = (1 + f) * 2^exponent and 1 + f is between the square roots of
// 1/2 and
// 2.
func (c *elementary[T]) split(x T) (exponent, f T) {
	bias := T(c.Bias)
	if x < T(c.MinNormal) {
		x, bias = x*T(c.LogScale), bias+T(c.LogScaleExponent)
	}
	half := c.bits(T(c.SqrtHalf))
	b := c.bits(x) + (uint64(c.Bias)<<c.Mantissa - half)
	return T(b>>c.Mantissa) - bias, c.fromBits(b&(1<<c.Mantissa-1)+half) - 1
}
