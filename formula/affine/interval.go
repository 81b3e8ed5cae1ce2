package affine

// Interval holds the least and the greatest value of an integer. It is not Known where nothing says them, or
// where an int does not hold one of them. The zero Interval is not known.
type Interval struct {
	Lo, Hi int
	Known  bool
}

// Exactly returns the interval of a number.
func Exactly(n int) Interval { return Interval{n, n, true} }

// Plus returns the interval of a sum.
func (i Interval) Plus(j Interval) Interval {
	lo, under := sum(i.Lo, j.Lo)
	hi, over := sum(i.Hi, j.Hi)
	return Interval{lo, hi, i.Known && j.Known && !under && !over}
}

// Times returns the interval of a multiple.
func (i Interval) Times(k int) Interval {
	lo, under := product(i.Lo, k)
	hi, over := product(i.Hi, k)
	if k < 0 {
		lo, hi = hi, lo
	}
	return Interval{lo, hi, i.Known && !under && !over}
}

// Mul returns the interval of a product of integers that do not depend on each other.
func (i Interval) Mul(j Interval) Interval {
	a, b := i.Times(j.Lo), i.Times(j.Hi)
	out := a.Either(b)
	out.Known = out.Known && j.Known
	return out
}

// Either returns the interval of an integer that is one of two.
func (i Interval) Either(j Interval) Interval {
	return Interval{min(i.Lo, j.Lo), max(i.Hi, j.Hi), i.Known && j.Known}
}

// Least returns the interval of the lesser of two integers.
func (i Interval) Least(j Interval) Interval {
	return Interval{min(i.Lo, j.Lo), min(i.Hi, j.Hi), i.Known && j.Known}
}

// Greatest returns the interval of the greater of two integers.
func (i Interval) Greatest(j Interval) Interval {
	return Interval{max(i.Lo, j.Lo), max(i.Hi, j.Hi), i.Known && j.Known}
}

// Quotient returns the interval of i / j, rounded down. It is known for divisors of at least 1 only.
func (i Interval) Quotient(j Interval) Interval {
	if !i.Known || !j.Known || j.Lo <= 0 {
		return Interval{}
	}
	return Interval{min(floor(i.Lo, j.Lo), floor(i.Lo, j.Hi)), max(floor(i.Hi, j.Lo), floor(i.Hi, j.Hi)), true}
}

// Modulo returns the interval of i % j, the rest of Quotient. It is known for divisors of at least 1 only,
// and then also where i is not.
func (i Interval) Modulo(j Interval) Interval {
	switch {
	case !j.Known || j.Lo <= 0:
		return Interval{}
	case i.Known && j.Lo == j.Hi && floor(i.Lo, j.Lo) == floor(i.Hi, j.Lo): // no multiple lies between
		q := floor(i.Lo, j.Lo) * j.Lo
		return Interval{i.Lo - q, i.Hi - q, true}
	}
	return Interval{0, j.Hi - 1, true}
}

// floor returns x / d, rounded down, for d > 0.
func floor(x, d int) int {
	q := x / d
	if x%d < 0 {
		q--
	}
	return q
}

// sum returns x + y, and whether T does not hold it.
func sum[T int | int64](x, y T) (z T, overflow bool) {
	z = x + y
	return z, (z > x) != (y > 0) && y != 0
}

// product returns x * y, and whether T does not hold it.
func product[T int | int64](x, y T) (z T, overflow bool) {
	z = x * y
	return z, x != 0 && (z/x != y || x == -1 && y != 0 && z == y)
}
