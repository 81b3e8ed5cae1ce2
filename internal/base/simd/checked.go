package simd

// The functions below make entries of tables from functions that take the lengths of their operands as given,
// or that take lanes as arrays.

func checkedUnary[T Float](f func(z, x []T)) func(z, x []T) {
	return func(z, x []T) {
		check(len(z), len(x), len(x), len(x))
		f(z, x)
	}
}

// checkedTurn returns a function that calls fast for strips of arguments up to the bound for sines, and slow
// for others.
func checkedTurn[T Float](fast func(z, x []T), peak func(a *[lanes]T, x []T), slow func(z, x []T)) func(z, x []T) {
	bound := T(elementaryOf[T]().SinBound)
	return func(z, x []T) {
		check(len(z), len(x), len(x), len(x))
		if exceeds(x, bound, peak) {
			slow(z, x)
			return
		}
		fast(z, x)
	}
}

// exceeds reports whether the amount of an argument is greater than a bound. Few are compared one by one,
// since lanes take longer for them.
func exceeds[T Float](x []T, bound T, peak func(a *[lanes]T, x []T)) bool {
	if len(x) <= lanes {
		for _, v := range x {
			if v > bound || v < -bound {
				return true
			}
		}
		return false
	}
	var a [lanes]T
	peak(&a, x)
	for _, v := range a {
		if v > bound {
			return true
		}
	}
	return false
}

func checkedBinary[T Float](f func(z, x, y []T)) func(z, x, y []T) {
	return func(z, x, y []T) {
		check(len(z), len(x), len(y), len(y))
		f(z, x, y)
	}
}

func checkedBinaryScalar[T Float](f func(z, x []T, y T)) func(z, x []T, y T) {
	return func(z, x []T, y T) {
		check(len(z), len(x), len(x), len(x))
		f(z, x, y)
	}
}

func checkedScalarBinary[T Float](f func(z []T, x T, y []T)) func(z []T, x T, y []T) {
	return func(z []T, x T, y []T) {
		check(len(z), len(y), len(y), len(y))
		f(z, x, y)
	}
}

func fold1[T Float](f func(a *[lanes]T, x []T)) func(a *Lanes[T], x []T) {
	return func(a *Lanes[T], x []T) { f((*[lanes]T)(a), x) }
}

func fold2[T Float](f func(a *[lanes]T, x, y []T)) func(a *Lanes[T], x, y []T) {
	return func(a *Lanes[T], x, y []T) { f((*[lanes]T)(a), x, y) }
}

func foldScalar[T Float](f func(a *[lanes]T, x []T, y T)) func(a *Lanes[T], x []T, y T) {
	return func(a *Lanes[T], x []T, y T) { f((*[lanes]T)(a), x, y) }
}

func foldLanes[T Float](f func(a *[lanes]T) T) func(a *Lanes[T]) T {
	return func(a *Lanes[T]) T { return f((*[lanes]T)(a)) }
}
