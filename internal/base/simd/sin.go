package simd

func (c *elementary[T]) sin(x T) T { return c.turn(x, 0) }

func (c *elementary[T]) cos(x T) T { return c.turn(x, 1) }

// turn returns the sine of x + quarters*pi/2.
func (c *elementary[T]) turn(x T, quarters uint64) T {
	if abs(x) > T(c.SinBound) {
		n, r := largeQuadrant(float64(x))
		short := T(r)
		return c.quadrant(n+quarters, short, T(float64(short)-r))
	}
	t := fma(x, c.twoByPi, c.magic)
	n := t - c.magic
	a := fma(-n, c.halfPi[1], fma(-n, c.halfPi[0], x)) // not rounded
	b := T(n * c.halfPi[2])
	r := a - b
	return c.quadrant(c.bits(t)+quarters, r, fma(n, c.halfPi[3], b-(a-r)))
}

// quadrant returns the sine of r - rest + n*pi/2 for |r| <= pi/4 and a small rest.
func (c *elementary[T]) quadrant(n uint64, r, rest T) T {
	z := T(r * r)
	y := r - fma(T(z*polynomial(c.sins, z)), r, rest)
	if n&1 != 0 {
		y = fma(T(z*z), polynomial(c.coss, z), fma(-z, 0.5, 1))
	}
	if n&2 != 0 {
		return -y
	}
	return y
}
