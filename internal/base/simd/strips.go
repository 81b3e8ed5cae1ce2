package simd

import (
	"math"
	"unsafe"
)

// unaryStrip sets every z[i] to f of x[i], for a function that is an operation or two. There is a loop for
// each function, since a call takes longer than the operation.
func unaryStrip[T Float](f Unary, z, x []T) {
	z = z[:len(x)]
	switch f {
	case Neg:
		for i, v := range x {
			z[i] = -v
		}
	case Abs:
		for i, v := range x {
			z[i] = T(math.Abs(float64(v)))
		}
	case Square:
		for i, v := range x {
			z[i] = v * v
		}
	case Sqrt:
		for i, v := range x {
			z[i] = root(v)
		}
	case Rsqrt:
		for i, v := range x {
			z[i] = 1 / root(v)
		}
	case Recip:
		for i, v := range x {
			z[i] = 1 / v
		}
	case Floor:
		for i, v := range x {
			z[i] = T(math.Floor(float64(v)))
		}
	case Ceil:
		for i, v := range x {
			z[i] = T(math.Ceil(float64(v)))
		}
	case Round:
		for i, v := range x {
			z[i] = T(math.RoundToEven(float64(v)))
		}
	case Sign:
		for i, v := range x {
			z[i] = truth[T](v > 0) - truth[T](v < 0)
		}
	case IsNaN:
		for i, v := range x {
			z[i] = truth[T](v != v)
		}
	case Not:
		for i, v := range x {
			z[i] = truth[T](v == 0)
		}
	}
}

// binaryStrip sets every z[i] to f of x[i] and y[i], for a function that is an operation or two.
func binaryStrip[T Float](f Binary, z, x, y []T) {
	z, y = z[:len(x)], y[:len(x)]
	switch f {
	case Add:
		for i, v := range x {
			z[i] = v + y[i]
		}
	case Sub:
		for i, v := range x {
			z[i] = v - y[i]
		}
	case Mul:
		for i, v := range x {
			z[i] = v * y[i]
		}
	case Div:
		for i, v := range x {
			z[i] = v / y[i]
		}
	case Max:
		for i, v := range x {
			z[i] = max(v, y[i])
		}
	case Min:
		for i, v := range x {
			z[i] = min(v, y[i])
		}
	case Less:
		for i, v := range x {
			z[i] = truth[T](v < y[i])
		}
	case AtMost:
		for i, v := range x {
			z[i] = truth[T](v <= y[i])
		}
	case Equal:
		for i, v := range x {
			z[i] = truth[T](v == y[i])
		}
	case Unequal:
		for i, v := range x {
			z[i] = truth[T](v != y[i])
		}
	case And:
		for i, v := range x {
			z[i] = truth[T](v != 0) * truth[T](y[i] != 0)
		}
	case Or:
		for i, v := range x {
			z[i] = max(truth[T](v != 0), truth[T](y[i] != 0))
		}
	}
}

// scalars is how many copies of a number binary functions of strips take at once.
const scalars = 64

// binaryScalarStrip sets every z[i] to f of x[i] and y.
func binaryScalarStrip[T Float](f Binary, z, x []T, y T) {
	var same [scalars]T
	for i := range same {
		same[i] = y
	}
	for lo := 0; lo < len(z); lo += scalars {
		hi := min(lo+scalars, len(z))
		binaryStrip(f, z[lo:hi], x[lo:hi], same[:hi-lo])
	}
}

// scalarBinaryStrip sets every z[i] to f of x and y[i].
func scalarBinaryStrip[T Float](f Binary, z []T, x T, y []T) {
	var same [scalars]T
	for i := range same {
		same[i] = x
	}
	for lo := 0; lo < len(z); lo += scalars {
		hi := min(lo+scalars, len(z))
		binaryStrip(f, z[lo:hi], same[:hi-lo], y[lo:hi])
	}
}

// setStrips sets the entries of functions that are an operation or two.
func (t *table[T]) setStrips() {
	for f := range Unary(unaries) {
		switch f {
		case Neg, Abs, Square, Sqrt, Rsqrt, Recip, Floor, Ceil, Round, Sign, IsNaN, Not:
			t.unary[f] = checkedUnary(func(z, x []T) { unaryStrip(f, z, x) })
		}
	}
	for f := range Binary(binaries) {
		if f == Pow {
			continue
		}
		t.binary[f] = checkedBinary(func(z, x, y []T) { binaryStrip(f, z, x, y) })
		t.binaryScalar[f] = checkedBinaryScalar(func(z, x []T, y T) { binaryScalarStrip(f, z, x, y) })
		t.scalarBinary[f] = checkedScalarBinary(func(z []T, x T, y []T) { scalarBinaryStrip(f, z, x, y) })
	}
	t.binaryScalar[Add] = checkedBinaryScalar(addScalar[T])
	t.binaryScalar[Sub] = checkedBinaryScalar(func(z, x []T, y T) { addScalar(z, x, -y) })
	t.binaryScalar[Mul] = checkedBinaryScalar(mulScalar[T])
	t.scalarBinary[Add] = checkedScalarBinary(func(z []T, x T, y []T) { addScalar(z, y, x) })
	t.scalarBinary[Mul] = checkedScalarBinary(func(z []T, x T, y []T) { mulScalar(z, y, x) })
}

func addScalar[T Float](z, x []T, y T) {
	z = z[:len(x)]
	for i, v := range x {
		z[i] = v + y
	}
}

func mulScalar[T Float](z, x []T, y T) {
	z = z[:len(x)]
	for i, v := range x {
		z[i] = v * y
	}
}

// setElementary32 sets the entries of elementary functions to those that hold numbers in float64.
func setElementary32(t *table[float32]) {
	for f, g := range map[Unary]func(float64) float64{Exp: exp32, Log: log32, Tanh: tanh32, Sigmoid: sigmoid32, Phi: phi32, Density: density32} {
		t.unary[f] = checkedUnary(func(z, x []float32) { elementaryStrip(g, z, x) })
	}
	t.expInto = func(a *Lanes[float32], x []float32, shift float32) {
		var part [lanes]float64
		for len(x) > 0 {
			n := min(lanes, len(x))
			for i, v := range x[:n] {
				part[i] = float64(v - shift)
			}
			for i, v := range part[:n] {
				part[i] = exp32(v)
			}
			for i, v := range part[:n] {
				a[i] += float32(v)
			}
			x = x[n:]
		}
	}
}

// elementaryStrip sets every z[i] to f of x[i]. It widens elements before and narrows them after, not one by
// one: an instruction that converts leaves half of a register as it is, so it waits for what the register
// held, which is the result of the element before.
func elementaryStrip(f func(float64) float64, z, x []float32) {
	var part [lanes]float64
	for len(x) > 0 {
		n := min(lanes, len(x))
		widen(part[:n], x[:n])
		for i, v := range part[:n] {
			part[i] = f(v)
		}
		narrow(z[:n], part[:n])
		z, x = z[n:], x[n:]
	}
}

// truth returns 1 if v holds, and otherwise 0. It does not jump, since what it is asked for often is random.
func truth[T Float](v bool) T { return T(*(*uint8)(unsafe.Pointer(&v))) }
