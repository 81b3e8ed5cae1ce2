// Package elementary says by which operations on vectors package simd computes elementary functions: those
// that package simd does in Go, in the same order. The generator of assembly and the compiler of loops write
// the operations as instructions.
package elementary

import (
	"math"

	"github.com/opgen/opgen/internal/base/simd/approx"
)

// Machine writes operations on vectors V and on masks M, which say for each element whether a condition
// holds.
type Machine[V, M any] interface {
	// Number is a constant of the element type, and Word one with the given bits. Such a constant may only be
	// the second operand of an operation, or the second or the third of MulAdd and MulSubFrom.
	Number(v float64) V
	Word(bits uint64) V
	// Load returns a constant that may be any operand.
	Load(constant V) V

	Add(a, b V) V
	Sub(a, b V) V
	Mul(a, b V) V
	Div(a, b V) V
	And(a, b V) V
	Or(a, b V) V
	Xor(a, b V) V
	Sqrt(a V) V
	// MulAdd returns a*b + c, and MulSubFrom c - a*b, both rounded once.
	MulAdd(a, b, c V) V
	MulSubFrom(a, b, c V) V
	// AddInt and SubInt take bits as integers.
	AddInt(a, b V) V
	SubInt(a, b V) V
	// Above returns a where a > b, and otherwise b, which may be a NaN. Below returns a where a < b.
	Above(a, b V) V
	Below(a, b V) V
	// Up and Down move bits by n places.
	Up(a V, n uint) V
	Down(a V, n uint) V
	// Round rounds to an integer.
	Round(a V, way uint8) V
	// Scale returns x * 2^n, rounded once, or false if there is no instruction for it.
	Scale(x, n V) (V, bool)

	// Compare tells where a stands in a relation to b.
	Compare(a V, p uint8, b V) M
	// Signs tells where the sign bit is set. Only Choose may take the mask.
	Signs(a V) M
	Both(a, b M) M
	Either(a, b M) M
	// Choose returns a where the mask is set, and otherwise b.
	Choose(m M, a, b V) V
	// Truth is 1 where the mask is set, and otherwise 0.
	Truth(m M) V
}

// Comparisons, as instructions number them. None of them signals.
const (
	Equal     = 0x00
	Unordered = 0x03
	Unequal   = 0x04 // or unordered
	Less      = 0x11
	AtMost    = 0x12
	AtLeast   = 0x1d
	Greater   = 0x1e
)

// Ways to round, as instructions number them.
const (
	ToNearest = 8 + iota
	ToFloor
	ToCeil
)

// Functions writes elementary functions.
type Functions[V, M any] struct {
	Machine[V, M]
	*approx.Constants
	Double bool // whether elements are float64
}

// sign is the sign bit.
func (m *Functions[V, M]) sign() V {
	return m.Word(m.signBit())
}

func (m *Functions[V, M]) signBit() uint64 {
	if m.Double {
		return 1 << 63
	}
	return 1 << 31
}

// size is the number of bytes of an element.
func (m *Functions[V, M]) size() int {
	if m.Double {
		return 8
	}
	return 4
}

// bitsOf returns the bits of a number of the element type.
func (m *Functions[V, M]) bitsOf(v float64) uint64 {
	if m.Double {
		return math.Float64bits(v)
	}
	return uint64(math.Float32bits(float32(v)))
}

func (m *Functions[V, M]) abs(a V) V { return m.And(a, m.Word(^m.signBit())) }

// withSign returns the absolute value of a with the sign of b.
func (m *Functions[V, M]) withSign(a, b V) V { return m.Or(m.abs(a), m.And(b, m.sign())) }

// polynomial adds pairs, then pairs of pairs, and so on. The square of x is among powers, if that is at hand.
func (m *Functions[V, M]) polynomial(coefficients []float64, powers ...V) V {
	level := 0
	for 1<<level < len(coefficients) {
		level++
		if len(powers) < level {
			last := powers[len(powers)-1]
			powers = append(powers, m.Mul(last, last))
		}
	}
	return m.pairs(coefficients, powers, level, 0)
}

// pairs returns sum i of a level, of 2^level coefficients. One that is a coefficient alone is a constant.
func (m *Functions[V, M]) pairs(coefficients []float64, powers []V, level, i int) V {
	if level == 0 {
		return m.Number(coefficients[i])
	}
	low := m.pairs(coefficients, powers, level-1, 2*i)
	if (2*i+1)<<(level-1) >= len(coefficients) {
		return low
	}
	high := m.pairs(coefficients, powers, level-1, 2*i+1)
	power := powers[level-1]
	if level == 1 || (2*i+1)<<(level-1)+1 == len(coefficients) { // a coefficient alone, which is the second operand
		return m.MulAdd(power, high, low)
	}
	return m.MulAdd(high, power, low)
}

// chain adds pairs one after the other, from the highest powers on. That takes fewer operations than
// polynomial and longer.
func (m *Functions[V, M]) chain(coefficients []float64, x V) V {
	pair := func(i int) V {
		if i+1 == len(coefficients) {
			return m.Number(coefficients[i])
		}
		return m.MulAdd(x, m.Number(coefficients[i+1]), m.Number(coefficients[i]))
	}
	i := (len(coefficients) - 1) &^ 1
	z, square := pair(i), m.Mul(x, x)
	for i -= 2; i >= 0; i -= 2 {
		z = m.MulAdd(square, z, pair(i))
	}
	return z
}

// integer is an integer as a number, and as the low bits of a number to which Magic was added.
type integer[V any] struct{ number, bits V }

// nearest is the integer next to x times a constant.
func (m *Functions[V, M]) nearest(x, times V) integer[V] {
	t := m.MulAdd(x, times, m.Number(m.Constants.Magic))
	return integer[V]{m.Sub(t, m.Number(m.Constants.Magic)), t}
}

// power returns 2^(n - less), where bits hold n as those of integers do.
func (m *Functions[V, M]) power(bits V, less uint) V {
	return m.AddInt(m.Up(bits, m.Constants.Mantissa), m.Word(uint64(m.Constants.Bias-less)<<m.Constants.Mantissa))
}

// scale may divide 2^n in another way than Go code does: the first product is not rounded.
func (m *Functions[V, M]) scale(x V, n integer[V]) V {
	if z, ok := m.Scale(x, n.number); ok {
		return z
	}
	half := m.Down(n.bits, 1)
	rest := m.SubInt(n.bits, half)
	return m.Mul(m.Mul(x, m.power(half, 0)), m.power(rest, 0))
}

// scaleDown returns x * 2^n, rounded once, where n is not above 0, nor below that of densities and sigmoids
// that are 0. The first product is not rounded, since x is no smaller than its last place. It takes half of
// the operations of scale.
func (m *Functions[V, M]) scaleDown(x V, n integer[V]) V {
	if z, ok := m.Scale(x, n.number); ok {
		return z
	}
	half := (m.Constants.Bias + 1) / 2
	bits := m.AddInt(m.Up(n.bits, m.Constants.Mantissa), m.Word(uint64(m.Constants.Bias+half)<<m.Constants.Mantissa)) // of 2^(n + half)
	return m.Mul(m.Mul(x, bits), m.Word(uint64(m.Constants.Bias-half)<<m.Constants.Mantissa))
}

func (m *Functions[V, M]) reduce(x V) (n integer[V], e V) {
	n = m.nearest(x, m.Number(m.Constants.Log2E))
	return n, m.grow(m.remainder(x, n.number))
}

func (m *Functions[V, M]) remainder(x, n V) V {
	return m.MulSubFrom(n, m.Number(m.Constants.Ln2Low), m.MulSubFrom(n, m.Number(m.Constants.Ln2High), x))
}

func (m *Functions[V, M]) grow(r V) V {
	square := m.Mul(r, r)
	return m.MulAdd(square, m.polynomial(m.Constants.Exp, r, square), r)
}

// atLeast and atMost bound x, and leave a NaN as it is.
func (m *Functions[V, M]) atLeast(x V, bound float64) V { return m.Above(m.Load(m.Number(bound)), x) }
func (m *Functions[V, M]) atMost(x V, bound float64) V  { return m.Below(m.Load(m.Number(bound)), x) }

// Exp returns e^x.
func (m *Functions[V, M]) Exp(x V) V {
	n, e := m.reduce(m.atMost(m.atLeast(x, m.Constants.ExpLow), m.Constants.ExpHigh))
	return m.scale(m.Add(e, m.Number(1)), n)
}

// Expm1 returns e^x - 1.
func (m *Functions[V, M]) Expm1(x V) V {
	n, e := m.reduce(m.atMost(m.atLeast(x, m.Constants.Expm1Low), m.Constants.ExpHigh))
	half := m.power(n.bits, 1)
	y := m.MulAdd(e, half, m.Sub(half, m.Number(0.5)))
	return m.withSign(m.Add(y, y), x)
}

// Tanh returns the hyperbolic tangent of x.
func (m *Functions[V, M]) Tanh(x V) V {
	n, e := m.reduce(m.Mul(m.atMost(m.abs(x), m.Constants.TanhHigh), m.Number(-2)))
	p := m.power(n.bits, 0)
	t := m.Mul(e, p)
	one := m.Load(m.Number(1))
	return m.withSign(m.Div(m.Sub(m.Sub(one, p), t), m.Add(m.Add(p, one), t)), x)
}

// Sigmoid returns 1/(1 + e^-x).
func (m *Functions[V, M]) Sigmoid(x V) V {
	n, e := m.reduce(m.atLeast(m.Or(x, m.sign()), m.Constants.ExpLow))
	one := m.Load(m.Number(1))
	sum := m.Add(e, one)
	p := m.scaleDown(sum, n)
	q := m.Add(p, one)
	lost := m.Sub(m.Sub(e, m.Sub(sum, one)), m.Sub(p, m.Sub(q, one)))
	positive := m.Compare(x, AtLeast, m.Number(0))
	z := m.Div(m.Choose(positive, one, p), q)
	return m.Choose(positive, z, m.MulAdd(m.Mul(lost, m.Sub(one, z)), z, z))
}

// bell returns an integer n and y, such that (y + rest) * 2^n is the density of the standard normal
// distribution at t.
func (m *Functions[V, M]) bell(t V) (n integer[V], y, rest V) {
	square := m.Mul(t, t)
	n = m.nearest(square, m.Number(-m.Constants.Log2E/2))
	added := m.MulSubFrom(t, t, square) // to t^2, when it was rounded
	r := m.Sub(m.MulAdd(n.number, m.Number(2*m.Constants.Ln2High), square), m.MulSubFrom(n.number, m.Number(2*m.Constants.Ln2Low), added))
	top := m.Number(m.Constants.DensityTop)
	e := m.MulAdd(m.Mul(r, r), m.chain(m.Constants.Density, r), m.Number(m.Constants.DensityRest))
	e = m.MulAdd(r, m.Number(-m.Constants.DensityTop/2), e)
	y = m.Add(e, top)
	return n, y, m.Sub(e, m.Sub(y, top))
}

// Density returns the density of the standard normal distribution.
func (m *Functions[V, M]) Density(x V) V {
	n, y, _ := m.bell(m.atMost(m.abs(x), m.Constants.DensityHigh))
	return m.scaleDown(y, n)
}

// Phi returns the distribution function of the standard normal distribution.
func (m *Functions[V, M]) Phi(x V) V {
	t := m.atMost(m.abs(x), m.Constants.PhiHigh)
	one := m.Load(m.Number(1))
	n, y, rest := m.bell(t)
	above := t
	if zero := m.Constants.PhiZero; zero != 0 {
		above = m.Sub(t, m.Number(zero))
	}
	u := m.Div(above, m.Add(t, m.Number(m.Constants.PhiPole)))
	first, factor := m.Number(m.Constants.Phi[0]), m.chain(m.Constants.Phi[1:], u)
	start := m.Add(t, first)
	sum := m.MulAdd(factor, u, start)
	lost := m.MulAdd(factor, u, m.Sub(start, sum))
	lost = m.Sub(lost, m.Sub(m.Sub(m.Sub(start, t), first), m.Number(m.Constants.PhiRest)))
	tail := m.Div(y, sum)
	tail = m.MulAdd(m.MulSubFrom(tail, lost, rest), m.SubInt(m.Load(m.Word(m.Constants.Inverse)), sum), tail)
	tail = m.scaleDown(tail, n)
	return m.Choose(m.Signs(x), tail, m.Sub(one, tail)) // both are 1/2 if x is 0
}

// Log returns the natural logarithm of x.
func (m *Functions[V, M]) Log(x V) V {
	y := m.logarithm(m.split(x))
	y = m.Choose(m.Compare(x, Less, m.Number(math.Inf(1))), y, x)
	y = m.Choose(m.Compare(x, Equal, m.Number(0)), m.Load(m.Number(math.Inf(-1))), y)
	return m.Choose(m.Compare(x, Less, m.Number(0)), m.Load(m.Number(math.NaN())), y)
}

// Log1p returns the logarithm of 1 + x. What is lost where the sum is rounded, divided by the sum, is added
// to the logarithm of the rounded sum.
func (m *Functions[V, M]) Log1p(x V) V {
	u := m.Add(x, m.Number(1))
	lost := m.Sub(x, m.Sub(u, m.Number(1)))
	y := m.Log(u)
	some := m.Compare(m.Or(lost, m.sign()), Less, m.Number(0)) // neither 0 nor a NaN, which is the difference of infinities
	y = m.Choose(some, m.Add(y, m.Div(lost, u)), y)
	return m.withSign(y, x)
}

// split returns an integer and f, such that x = (1 + f) * 2^exponent and 1 + f is between the square roots of
// 1/2 and 2.
func (m *Functions[V, M]) split(x V) (exponent, f V) {
	small := m.Compare(x, Less, m.Number(m.Constants.MinNormal))
	y := m.Choose(small, m.Mul(x, m.Number(m.Constants.LogScale)), x)
	bias := float64(m.Constants.Bias)
	half := m.bitsOf(m.Constants.SqrtHalf)
	b := m.AddInt(y, m.Word(uint64(m.Constants.Bias)<<m.Constants.Mantissa-half))
	// The exponent becomes the fraction of a number 2^Mantissa + exponent.
	unit := float64(uint64(1) << m.Constants.Mantissa)
	exponent = m.Sub(m.Or(m.Down(b, m.Constants.Mantissa), m.Number(unit)), m.Number(unit))
	exponent = m.Sub(exponent, m.Choose(small, m.Load(m.Number(bias+m.Constants.LogScaleExponent)), m.Load(m.Number(bias))))
	return exponent, m.Sub(m.AddInt(m.And(b, m.Word(1<<m.Constants.Mantissa-1)), m.Word(half)), m.Number(1))
}

// pair is a sum of two numbers, of which the second is small. It has about twice as many bits as one.
type pair[V any] struct{ high, low V }

// plus returns a + b, where the greater part of b is not greater than that of a, or a is 0.
func (m *Functions[V, M]) plus(a, b pair[V]) pair[V] {
	sum := m.Add(a.high, b.high)
	return m.normal(sum, m.Add(m.Add(m.Sub(a.high, sum), b.high), m.Add(a.low, b.low)))
}

// times returns a * b.
func (m *Functions[V, M]) times(a, b pair[V]) pair[V] {
	p, over := m.multiply(a.high, b.high)
	return m.normal(p, m.Sub(m.Add(m.Mul(a.high, b.low), m.Mul(a.low, b.high)), over))
}

// normal returns high + low, as a pair whose first number is the sum rounded.
func (m *Functions[V, M]) normal(high, low V) pair[V] {
	sum := m.Add(high, low)
	return pair[V]{sum, m.Add(m.Sub(high, sum), low)}
}

// multiply returns the rounded product of x and y, and by how much it is above the product.
func (m *Functions[V, M]) multiply(x, y V) (p, over V) {
	p = m.Mul(x, y)
	return p, m.MulSubFrom(x, y, p)
}

// longLog returns the logarithm of x > 0.
func (m *Functions[V, M]) longLog(x V) pair[V] {
	exponent, f := m.split(x)
	sum := m.Add(f, m.Number(2))
	q := m.Div(f, sum)
	p, over := m.multiply(q, sum)
	lost := m.Mul(q, m.Sub(f, m.Sub(sum, m.Number(2))))
	s := pair[V]{q, m.Div(m.Sub(m.Add(m.Sub(f, p), over), lost), sum)} // f/(f + 2)
	z := m.times(s, s)
	small := m.Mul(z.high, m.polynomial(approx.LongLog[:], z.high))
	first := m.Load(m.Number(approx.LongLogHigh))
	l := m.Add(first, small)
	series := m.normal(l, m.Add(m.Add(m.Sub(first, l), small), m.Number(approx.LongLogLow)))
	series = m.times(s, m.times(z, series))
	series = m.plus(pair[V]{m.Add(s.high, s.high), m.Add(s.low, s.low)}, series)
	return m.plus(pair[V]{m.Mul(exponent, m.Number(m.Constants.Ln2High)), m.Mul(exponent, m.Number(m.Constants.Ln2Low))}, series)
}

// LongPow returns x^y for a positive finite x and a finite y.
func (m *Functions[V, M]) LongPow(x, y V) V {
	l := m.longLog(x)
	y = m.atMost(m.atLeast(y, -approx.PowMost), approx.PowMost)
	p, over := m.multiply(l.high, y)
	power := m.normal(p, m.Sub(m.Mul(l.low, y), over))
	n := m.nearest(power.high, m.Number(m.Constants.Log2E))
	e := m.grow(m.Add(m.remainder(power.high, n.number), power.low))
	z := m.scale(m.Add(e, m.Number(1)), n)
	z = m.Choose(m.Compare(power.high, Greater, m.Number(m.Constants.ExpHigh)), m.Load(m.Number(math.Inf(1))), z)
	return m.Choose(m.Compare(power.high, Less, m.Number(m.Constants.ExpLow)), m.Load(m.Number(0)), z)
}

// Whole returns the upper 53 bits of words as a number of float64.
func (m *Functions[V, M]) Whole(words V) V {
	// Each half of the word is below 2^32. As the lower bits of a great number it is a number itself.
	const low, high = 1 << 52, 1 << 84
	v := m.Down(words, 11)
	lower := m.Or(m.And(v, m.Word(1<<32-1)), m.Number(low))
	upper := m.Or(m.Down(v, 32), m.Number(high))
	return m.Add(m.Sub(upper, m.Number(high+low)), lower)
}

// Normal returns a number of the standard normal distribution, by the method of Box and Muller:
// sqrt(-2*log(1 - x)) * cos(2*pi*y), where x and y are random numbers from 0 to 1, 1 excluded. They are
// integers here, multiplied by 2^53. No argument is a NaN, infinite or subnormal.
func (m *Functions[V, M]) Normal(x, y V) V {
	const whole = 1 << 53
	rest := m.Sub(m.Load(m.Number(whole)), x)
	half := m.bitsOf(m.Constants.SqrtHalf)
	b := m.AddInt(rest, m.Word(uint64(m.Constants.Bias)<<m.Constants.Mantissa-half))
	unit := float64(uint64(1) << m.Constants.Mantissa)
	exponent := m.Sub(m.Or(m.Down(b, m.Constants.Mantissa), m.Number(unit)), m.Number(unit+float64(m.Constants.Bias)+53))
	f := m.Sub(m.AddInt(m.And(b, m.Word(1<<m.Constants.Mantissa-1)), m.Word(half)), m.Number(1))
	root := m.Sqrt(m.Mul(m.logarithm(exponent, f), m.Number(-2)))
	t := m.Sub(m.abs(m.Sub(y, m.Number(whole/2))), m.Number(whole/4))
	return m.Mul(root, m.Mul(m.chain(approx.Turn, m.Mul(t, t)), t))
}

// logarithm returns the logarithm of (1 + f) * 2^exponent.
func (m *Functions[V, M]) logarithm(exponent, f V) V {
	s := m.Div(f, m.Add(f, m.Number(2)))
	z := m.Mul(s, s)
	square := m.Mul(m.Mul(f, m.Number(0.5)), f)
	r := m.MulAdd(z, m.polynomial(m.Constants.Log, z), square)
	low := m.MulAdd(s, r, m.Mul(exponent, m.Number(m.Constants.Ln2Low)))
	return m.MulAdd(exponent, m.Number(m.Constants.Ln2High), m.Sub(f, m.Sub(square, low)))
}

// turn returns the sine of x + quarters*pi/2 where x is not above SinBound.
func (m *Functions[V, M]) turn(x V, quarters uint64) V {
	nearest := m.nearest(x, m.Number(m.Constants.TwoByPi))
	n, t := nearest.number, nearest.bits
	if quarters != 0 {
		t = m.AddInt(t, m.Word(quarters))
	}
	a := m.MulSubFrom(n, m.Number(m.Constants.HalfPi[1]), m.MulSubFrom(n, m.Number(m.Constants.HalfPi[0]), x))
	b := m.Mul(n, m.Number(m.Constants.HalfPi[2]))
	r := m.Sub(a, b)
	rest := m.MulAdd(n, m.Number(m.Constants.HalfPi[3]), m.Sub(b, m.Sub(a, r)))
	z := m.Mul(r, r)
	square := m.Mul(z, z)
	sine := m.Sub(r, m.MulAdd(m.Mul(z, m.polynomial(m.Constants.Sin, z, square)), r, rest))
	one := m.Load(m.Number(1))
	cosine := m.MulAdd(square, m.polynomial(m.Constants.Cos, z, square), m.MulSubFrom(z, m.Number(0.5), one))
	last := uint(8*m.size() - 1)
	y := m.Choose(m.Signs(m.Up(t, last)), cosine, sine)
	return m.Xor(y, m.And(m.Up(t, last-1), m.sign()))
}

// Sin and Cos return the sine and the cosine of x where it is not above SinBound.
func (m *Functions[V, M]) Sin(x V) V { return m.turn(x, 0) }
func (m *Functions[V, M]) Cos(x V) V { return m.turn(x, 1) }

// Neg returns -x, and Square x*x.
func (m *Functions[V, M]) Neg(x V) V    { return m.Xor(x, m.sign()) }
func (m *Functions[V, M]) Square(x V) V { return m.Mul(x, x) }

// Abs returns the absolute value of x.
func (m *Functions[V, M]) Abs(x V) V { return m.abs(x) }

// Rsqrt returns 1/sqrt(x), rounded twice, and Recip 1/x.
func (m *Functions[V, M]) Rsqrt(x V) V { return m.Div(m.Load(m.Number(1)), m.Sqrt(x)) }
func (m *Functions[V, M]) Recip(x V) V { return m.Div(m.Load(m.Number(1)), x) }

// Floor, Ceil and Round round to integers.
func (m *Functions[V, M]) Floor(x V) V { return m.Machine.Round(x, ToFloor) }
func (m *Functions[V, M]) Ceil(x V) V  { return m.Machine.Round(x, ToCeil) }
func (m *Functions[V, M]) Even(x V) V  { return m.Machine.Round(x, ToNearest) }

// Sign returns 1 above 0, -1 below, and otherwise 0.
func (m *Functions[V, M]) Sign(x V) V {
	zero := m.Number(0)
	return m.Sub(m.Truth(m.Compare(x, Greater, zero)), m.Truth(m.Compare(x, Less, zero)))
}

// IsNaN returns 1 if x is a NaN, and Not 1 if x is 0; otherwise 0.
func (m *Functions[V, M]) IsNaN(x V) V { return m.Truth(m.Compare(x, Unordered, x)) }
func (m *Functions[V, M]) Not(x V) V   { return m.Truth(m.Compare(x, Equal, m.Number(0))) }

// Max and Min are Go's max and min: a NaN if a or b is one, and -0 is less than 0. Above and Below return
// their second operand if the two are equal or one is a NaN.
func (m *Functions[V, M]) Max(a, b V) V {
	// The bits of equal operands differ in the sign of 0 only.
	z := m.And(m.Above(a, b), m.Above(b, a))
	return m.Choose(m.Compare(a, Unordered, b), m.Add(a, b), z)
}

func (m *Functions[V, M]) Min(a, b V) V {
	return m.Or(m.Below(a, b), m.Below(b, a)) // a NaN with any more bits is a NaN
}

// Less and the functions below return 1 where a relation holds, and otherwise 0.
func (m *Functions[V, M]) Less(a, b V) V    { return m.Truth(m.Compare(a, Less, b)) }
func (m *Functions[V, M]) AtMost(a, b V) V  { return m.Truth(m.Compare(a, AtMost, b)) }
func (m *Functions[V, M]) Equal(a, b V) V   { return m.Truth(m.Compare(a, Equal, b)) }
func (m *Functions[V, M]) Unequal(a, b V) V { return m.Truth(m.Compare(a, Unequal, b)) }

// All returns 1 where neither a nor b is 0, and Any where one of them is not; otherwise 0.
func (m *Functions[V, M]) All(a, b V) V { return m.Truth(m.Both(m.isSet(a), m.isSet(b))) }
func (m *Functions[V, M]) Any(a, b V) V { return m.Truth(m.Either(m.isSet(a), m.isSet(b))) }

func (m *Functions[V, M]) isSet(a V) M { return m.Compare(a, Unequal, m.Number(0)) }

// Select returns a where w is not 0, and otherwise b.
func (m *Functions[V, M]) Select(w, a, b V) V { return m.Choose(m.isSet(w), a, b) }

// SelectPositive returns a where w is above 0, and otherwise b.
func (m *Functions[V, M]) SelectPositive(w, a, b V) V {
	return m.Choose(m.Compare(w, Greater, m.Number(0)), a, b)
}
