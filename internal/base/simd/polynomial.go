package simd

// polynomial returns the sum of coefficients[i] * x^i, for up to 32 coefficients. It adds pairs, then pairs
// of pairs, and so on, as Estrin proposed, so that no chain of operations is long. Products and sums are
// rounded once.
func polynomial[T Float](c []T, x T) T {
	x2 := T(x * x)
	x4 := T(x2 * x2)
	if len(c) <= 8 {
		return sum8(c, x, x2, x4)
	}
	x8 := T(x4 * x4)
	if len(c) <= 16 {
		return sum16(c, x, x2, x4, x8)
	}
	return fma(sum16(c[16:], x, x2, x4, x8), T(x8*x8), sum16(c[:16], x, x2, x4, x8))
}

// chain returns the same sum. It adds pairs one after the other, from the highest powers on: that takes fewer
// operations, of which each waits for the one before.
func chain[T Float](c []T, x T) T {
	square, i := T(x*x), (len(c)-1)&^1
	z := sum2(c[i:], x)
	for i -= 2; i >= 0; i -= 2 {
		z = fma(z, square, sum2(c[i:], x))
	}
	return z
}

// sum16, sum8, sum4 and sum2 are polynomials of up to as many coefficients.
func sum16[T Float](c []T, x, x2, x4, x8 T) T {
	if len(c) <= 8 {
		return sum8(c, x, x2, x4)
	}
	return fma(sum8(c[8:], x, x2, x4), x8, sum8(c[:8], x, x2, x4))
}

func sum8[T Float](c []T, x, x2, x4 T) T {
	if len(c) <= 4 {
		return sum4(c, x, x2)
	}
	return fma(sum4(c[4:], x, x2), x4, sum4(c[:4], x, x2))
}

func sum4[T Float](c []T, x, x2 T) T {
	if len(c) <= 2 {
		return sum2(c, x)
	}
	return fma(sum2(c[2:], x), x2, sum2(c[:2], x))
}

func sum2[T Float](c []T, x T) T {
	if len(c) == 1 {
		return c[0]
	}
	return fma(c[1], x, c[0])
}
