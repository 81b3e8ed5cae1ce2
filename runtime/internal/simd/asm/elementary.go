package main

import "math"

// The functions below do what package simd does in Go, in the same order.

// polynomial adds pairs, then pairs of pairs, and so on. The square of x is square, if that is at hand.
func (m *machine) polynomial(coefficients []float64, x, square value) value {
	powers := []value{x}
	if square != nil {
		powers = append(powers, square)
	}
	level := 0
	for 1<<level < len(coefficients) {
		level++
		if len(powers) < level {
			last := powers[len(powers)-1]
			powers = append(powers, m.mul(last, last))
		}
	}
	sum, _ := m.pairs(coefficients, powers, level, 0)
	return sum
}

// pairs returns sum i of a level, of 2^level coefficients. One that is a coefficient alone is a constant.
func (m *machine) pairs(coefficients []float64, powers []value, level, i int) (value, constant) {
	if level == 0 {
		return nil, m.number(coefficients[i])
	}
	low, lowConstant := m.pairs(coefficients, powers, level-1, 2*i)
	if (2*i+1)<<(level-1) >= len(coefficients) {
		return low, lowConstant
	}
	high, highConstant := m.pairs(coefficients, powers, level-1, 2*i+1)
	power := powers[level-1]
	var product value
	if high == nil {
		product = m.mul(power, highConstant)
	} else {
		product = m.mul(high, power)
	}
	if low == nil {
		return m.add(product, lowConstant), constant{}
	}
	return m.add(product, low), constant{}
}

// integer is an integer as a number, and as the low bits of a number to which Magic was added.
type integer struct{ number, bits value }

// nearest is the integer next to x.
func (m *machine) nearest(x value) integer {
	t := m.add(x, m.number(m.Magic))
	return integer{m.sub(t, m.number(m.Magic)), t}
}

// power returns 2^(n - less), where bits hold n as those of integers do.
func (m *machine) power(bits value, less uint) value {
	return m.addInt(m.up(bits, m.Mantissa), m.word(uint64(m.Bias-less)<<m.Mantissa))
}

// scale may divide 2^n in another way than Go code does: the first product is not rounded.
func (m *machine) scale(x value, n integer) value {
	if m.wide() {
		return m.apply(m.real("VSCALEF"), x, n.number) // rounds once, too
	}
	half := m.down(n.bits, 1)
	rest := m.apply(m.integer("VPSUB"), n.bits, half)
	return m.mul(m.mul(x, m.power(half, 0)), m.power(rest, 0))
}

func (m *machine) reduce(x value) (n integer, e value) {
	n = m.nearest(m.mul(x, m.number(m.Log2E)))
	return n, m.grow(m.remainder(x, n.number))
}

func (m *machine) reduceSum(x, y value) (n integer, e value) {
	n = m.nearest(m.mul(m.add(x, y), m.number(m.Log2E)))
	return n, m.grow(m.add(m.remainder(x, n.number), y))
}

func (m *machine) remainder(x, n value) value {
	return m.sub(m.sub(x, m.mul(n, m.number(m.Ln2High))), m.mul(n, m.number(m.Ln2Low)))
}

func (m *machine) grow(r value) value {
	square := m.mul(r, r)
	return m.add(m.mul(square, m.polynomial(m.Exp, r, square)), r)
}

// atLeast and atMost bound x, and leave a NaN as it is.
func (m *machine) atLeast(x value, bound float64) value { return m.above(m.load(m.number(bound)), x) }
func (m *machine) atMost(x value, bound float64) value  { return m.below(m.load(m.number(bound)), x) }

func (m *machine) exp(x value) value {
	n, e := m.reduce(m.atMost(m.atLeast(x, m.ExpLow), m.ExpHigh))
	return m.scale(m.add(e, m.number(1)), n)
}

func (m *machine) expm1(x value) value {
	n, e := m.reduce(m.atMost(m.atLeast(x, m.Expm1Low), m.ExpHigh))
	half := m.power(n.bits, 1)
	y := m.add(m.mul(e, half), m.sub(half, m.number(0.5)))
	return m.withSign(m.add(y, y), x)
}

func (m *machine) tanh(x value) value {
	n, e := m.reduce(m.mul(m.atMost(m.abs(x), m.TanhHigh), m.number(-2)))
	p := m.power(n.bits, 0)
	t := m.mul(e, p)
	one := m.load(m.number(1))
	return m.withSign(m.div(m.sub(m.sub(one, p), t), m.add(m.add(p, one), t)), x)
}

func (m *machine) sigmoid(x value) value {
	n, e := m.reduce(m.atLeast(m.or(x, m.sign()), m.ExpLow))
	one := m.load(m.number(1))
	sum := m.add(e, one)
	p := m.scale(sum, n)
	q := m.add(p, one)
	lost := m.sub(m.sub(e, m.sub(sum, one)), m.sub(p, m.sub(q, one)))
	positive := m.compare(x, atLeast, m.number(0))
	z := m.div(m.choose(positive, one, p), q)
	return m.choose(positive, z, m.add(z, m.mul(m.mul(lost, m.sub(one, z)), z)))
}

func (m *machine) bell(t value) (n integer, y, rest value) {
	half := m.mul(t, m.number(-0.5))
	high, highHalf := m.and(t, m.word(m.HighBits)), m.and(half, m.word(m.HighBits))
	n, e := m.reduceSum(m.mul(high, highHalf), m.mul(m.add(half, highHalf), m.sub(t, high)))
	top := m.number(m.DensityTop)
	e = m.add(m.mul(e, top), m.number(m.DensityRest))
	y = m.add(e, top)
	return n, y, m.sub(e, m.sub(y, top))
}

func (m *machine) density(x value) value {
	n, y, _ := m.bell(m.atMost(m.abs(x), m.DensityHigh))
	return m.scale(y, n)
}

func (m *machine) phi(x value) value {
	t := m.atMost(m.abs(x), m.PhiHigh)
	one := m.load(m.number(1))
	q := m.div(one, m.add(t, m.number(m.PhiPole)))
	n, y, rest := m.bell(t)
	u := m.mul(m.sub(t, m.number(m.PhiPole)), q)
	d := m.polynomial(m.Phi, u, nil)
	sum := m.add(t, d)
	lost := m.sub(d, m.sub(sum, t))
	slope := m.mul(m.polynomial(m.PhiSlope, u, nil), q)
	tail := m.div(y, sum)
	tail = m.add(tail, m.mul(m.sub(rest, m.mul(tail, lost)), slope))
	tail = m.scale(tail, n)
	tail = m.choose(m.compare(x, greater, m.number(0)), m.sub(one, tail), tail)
	return m.choose(m.compare(m.abs(x), less, m.number(m.PhiCenter)), m.center(x), tail)
}

func (m *machine) center(x value) value {
	high := m.and(x, m.word(m.HighBits))
	first := m.number(m.CenterHigh)
	rest := m.add(m.mul(m.polynomial(m.Center, m.mul(x, x), nil), x), m.mul(m.sub(x, high), first))
	return m.add(m.add(m.mul(high, first), m.number(0.5)), rest)
}

func (m *machine) log(x value) value {
	small := m.compare(x, less, m.number(m.MinNormal))
	y := m.choose(small, m.mul(x, m.number(m.LogScale)), x)
	bias := float64(m.Bias)
	half := m.number(m.SqrtHalf).bits
	b := m.addInt(y, m.word(uint64(m.Bias)<<m.Mantissa-half))
	// The exponent becomes the fraction of a number 2^Mantissa + exponent.
	unit := float64(uint64(1) << m.Mantissa)
	exponent := m.sub(m.or(m.down(b, m.Mantissa), m.number(unit)), m.number(unit))
	exponent = m.sub(exponent, m.choose(small, m.load(m.number(bias+m.LogScaleExponent)), m.load(m.number(bias))))
	f := m.sub(m.addInt(m.and(b, m.word(1<<m.Mantissa-1)), m.word(half)), m.number(1))
	s := m.div(f, m.add(f, m.number(2)))
	z := m.mul(s, s)
	square := m.mul(m.mul(f, m.number(0.5)), f)
	r := m.add(m.mul(z, m.polynomial(m.Log, z, nil)), square)
	low := m.add(m.mul(s, r), m.mul(exponent, m.number(m.Ln2Low)))
	y = m.sub(m.mul(exponent, m.number(m.Ln2High)), m.sub(m.sub(square, low), f))
	y = m.choose(m.compare(x, less, m.number(math.Inf(1))), y, x)
	y = m.choose(m.compare(x, equal, m.number(0)), m.load(m.number(math.Inf(-1))), y)
	return m.choose(m.compare(x, less, m.number(0)), m.load(m.number(math.NaN())), y)
}

// turn returns the sine of x + quarters*pi/2 where x is not above SinBound.
func (m *machine) turn(x value, quarters uint64) value {
	nearest := m.nearest(m.mul(x, m.number(m.TwoByPi)))
	n, t := nearest.number, nearest.bits
	if quarters != 0 {
		t = m.addInt(t, m.word(quarters))
	}
	a := m.sub(m.sub(x, m.mul(n, m.number(m.HalfPi[0]))), m.mul(n, m.number(m.HalfPi[1])))
	b := m.mul(n, m.number(m.HalfPi[2]))
	r := m.sub(a, b)
	rest := m.add(m.sub(b, m.sub(a, r)), m.mul(n, m.number(m.HalfPi[3])))
	z := m.mul(r, r)
	square := m.mul(z, z)
	sine := m.sub(r, m.add(m.mul(m.mul(z, m.polynomial(m.Sin, z, square)), r), rest))
	one := m.load(m.number(1))
	cosine := m.add(m.mul(square, m.polynomial(m.Cos, z, square)), m.sub(one, m.mul(z, m.number(0.5))))
	last := uint(8*m.size() - 1)
	y := m.choose(m.signs(m.up(t, last)), cosine, sine)
	return m.xor(y, m.and(m.up(t, last-1), m.sign()))
}

func (m *machine) sin(x value) value { return m.turn(x, 0) }
func (m *machine) cos(x value) value { return m.turn(x, 1) }
