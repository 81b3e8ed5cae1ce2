package affine

// Interval is the range Lo to Hi of the values of an integer, both inclusive. If Known is not set, the range
// is unknown, or overflows int. The zero Interval is unknown.
type Interval struct {
	Lo, Hi int
	Known  bool
}

// Exactly returns the interval of the one number n.
func Exactly(n int) Interval { return Interval{n, n, true} }

// Plus returns the interval of x + y for x in i and y in j.
func (i Interval) Plus(j Interval) Interval {
	lo, under := sum(i.Lo, j.Lo)
	hi, over := sum(i.Hi, j.Hi)
	return Interval{lo, hi, i.Known && j.Known && !under && !over}
}

// Times returns the interval of k * x for x in i.
func (i Interval) Times(k int) Interval {
	lo, under := product(i.Lo, k)
	hi, over := product(i.Hi, k)
	if k < 0 {
		lo, hi = hi, lo
	}
	return Interval{lo, hi, i.Known && !under && !over}
}

// Mul returns the interval of x * y for independent x in i and y in j.
func (i Interval) Mul(j Interval) Interval {
	a, b := i.Times(j.Lo), i.Times(j.Hi)
	out := a.Either(b)
	out.Known = out.Known && j.Known
	return out
}

// Either returns the interval that contains both i and j.
func (i Interval) Either(j Interval) Interval {
	return Interval{min(i.Lo, j.Lo), max(i.Hi, j.Hi), i.Known && j.Known}
}

// Least returns the interval of min(x, y) for x in i and y in j.
func (i Interval) Least(j Interval) Interval {
	return Interval{min(i.Lo, j.Lo), min(i.Hi, j.Hi), i.Known && j.Known}
}

// Greatest returns the interval of max(x, y) for x in i and y in j.
func (i Interval) Greatest(j Interval) Interval {
	return Interval{max(i.Lo, j.Lo), max(i.Hi, j.Hi), i.Known && j.Known}
}

// Quotient returns the interval of x / y, rounded down, for x in i and y in j. It is unknown unless all
// divisors are at least 1.
func (i Interval) Quotient(j Interval) Interval {
	if !i.Known || !j.Known || j.Lo <= 0 {
		return Interval{}
	}
	return Interval{min(Floor(i.Lo, j.Lo), Floor(i.Lo, j.Hi)), max(Floor(i.Hi, j.Lo), Floor(i.Hi, j.Hi)), true}
}

// Modulo returns the interval of x % y for x in i and y in j. It is unknown unless all divisors are at least
// 1. It may be known although i is not.
func (i Interval) Modulo(j Interval) Interval {
	switch {
	case !j.Known || j.Lo <= 0:
		return Interval{}
	case i.Known && j.Lo == j.Hi && Floor(i.Lo, j.Lo) == Floor(i.Hi, j.Lo): // no multiple lies between
		q := Floor(i.Lo, j.Lo) * j.Lo
		return Interval{i.Lo - q, i.Hi - q, true}
	}
	return Interval{0, j.Hi - 1, true}
}

// Floor returns x / d, rounded down, for d > 0.
func Floor(x, d int) int {
	q := x / d
	if x%d < 0 {
		q--
	}
	return q
}

// sum returns x + y, and whether the sum overflows T.
func sum[T int | int64](x, y T) (z T, overflow bool) {
	z = x + y
	return z, (z > x) != (y > 0) && y != 0
}

// product returns x * y, and whether the product overflows T.
func product[T int | int64](x, y T) (z T, overflow bool) {
	z = x * y
	return z, x != 0 && (z/x != y || x == -1 && y != 0 && z == y)
}
