package simd

import (
	"math"
	"sync"

	"github.com/opgen/opgen/internal/base/simd/approx"
)

var double = elementaryOf[float64]()

// powOf returns the function that computes x^y, with the special values of math.Pow.
func powOf[T Float]() func(x, y T) T {
	if f, ok := any(pow64).(func(x, y T) T); ok {
		return f
	}
	return any(pow32).(func(x, y T) T)
}

// pow32 computes in float64, the logarithm of which has enough bits.
func pow32(x, y float32) float32 {
	wide, exponent := float64(x), float64(y)
	z, special := specialPow(wide, exponent)
	if !special {
		z = double.exp(double.log(abs(wide)) * exponent)
	}
	return float32(signedPow(z, wide, exponent))
}

func pow64(x, y float64) float64 {
	z, special := specialPow(x, y)
	if special {
		return signedPow(z, x, y)
	}
	if z, ok := shortPow(abs(x), y); ok {
		return signedPow(z, x, y)
	}
	return signedPow(longPow(abs(x), y), x, y)
}

// longPow returns x^y for a positive finite x and a finite y, by the logarithm of x.
func longPow(x, y float64) float64 {
	l := longLog(x).scaled(max(-approx.PowMost, min(y, approx.PowMost)))
	switch {
	case l.high > double.expHigh:
		return math.Inf(1)
	case l.high >= double.expLow:
		n, e := double.reduceDifference(l.high, -l.low)
		return double.scale(e+1, n)
	}
	return 0
}

// shortPow returns x^y for x > 0 and an integer y of at most 16 either way, as long as no product on the way
// to it is too large or too small. A few products of pairs take a tenth of the time of a logarithm and an
// exponential function.
func shortPow(x, y float64) (z float64, ok bool) {
	const largest = 1 << 60
	if !short(y) || !(x <= largest && x >= 1./largest) {
		return 0, false
	}
	power, product := pair{x, 0}, pair{1, 0}
	for n := int(abs(y)); ; power = power.times(power) {
		if n&1 != 0 {
			product = product.times(power)
		}
		if n >>= 1; n == 0 {
			break
		}
	}
	if y < 0 {
		return product.inverse(), true
	}
	return product.high, true
}

// short reports whether powers with an exponent are products.
func short(y float64) bool {
	const longest = 16
	n := abs(y)
	return n <= longest && n == math.Floor(n)
}

// specialPow returns x^y but for the sign, where that does not follow from the logarithm of x.
func specialPow(x, y float64) (z float64, special bool) {
	switch {
	case y == 0 || x == 1:
		return 1, true
	case x != x || y != y:
		return math.NaN(), true
	case y == 1:
		return abs(x), true
	case x == 0 || math.IsInf(x, 0):
		if (x == 0) == (y < 0) {
			return math.Inf(1), true
		}
		return 0, true
	case math.IsInf(y, 0):
		switch {
		case x == -1:
			return 1, true
		case (abs(x) > 1) == (y > 0):
			return math.Inf(1), true
		}
		return 0, true
	case x < 0 && y != math.Floor(y):
		return math.NaN(), true
	}
	return 0, false
}

// signedPow returns z with the sign of x^y.
func signedPow(z, x, y float64) float64 {
	odd := y == math.Floor(y) && abs(y) < 1<<53 && int64(y)&1 != 0
	if odd && math.Signbit(x) {
		return -z
	}
	return z
}

// setLongPow sets the entries of powers of float64 to functions that compute parts of strips by a function
// that does what longPow does. The other elements, such as those with short exponents, are computed one by
// one.
func setLongPow(t *table[float64], long func(z, x, y []float64)) {
	var pool = sync.Pool{New: func() any { return new(longPowStrips) }}
	// Element i of a result is made of elements i*dx and i*dy.
	pow := func(z, x, y []float64, dx, dy int) {
		s := pool.Get().(*longPowStrips)
		defer pool.Put(s)
		for first := 0; first < len(z); first += len(s.z) {
			part := z[first:min(len(z), first+len(s.z))]
			bases, exponents := spread(x, first, dx, s.x[:len(part)]), spread(y, first, dy, s.y[:len(part)])
			powers := s.z[:len(part)]
			long(powers, bases, exponents)
			for i, p := range powers {
				if v, e := bases[i], exponents[i]; v > 0 && v <= math.MaxFloat64 && abs(e) <= math.MaxFloat64 && !short(e) {
					part[i] = p
				} else {
					part[i] = pow64(v, e)
				}
			}
		}
	}
	scalar := t.binaryScalar[Pow]
	t.binary[Pow] = checkedBinary(func(z, x, y []float64) { pow(z, x, y, 1, 1) })
	t.binaryScalar[Pow] = checkedBinaryScalar(func(z, x []float64, y float64) {
		if short(y) {
			scalar(z, x, y)
			return
		}
		pow(z, x, []float64{y}, 1, 0)
	})
	t.scalarBinary[Pow] = checkedScalarBinary(func(z []float64, x float64, y []float64) { pow(z, []float64{x}, y, 0, 1) })
}

// longPowStrips is what powers of float64 need of memory for a part of a strip.
type longPowStrips struct{ x, y, z [256]float64 }

// spread returns consecutive elements of x, from first on: as many as s has. If d is 0, x is one number, and
// all elements are it.
func spread(x []float64, first, d int, s []float64) []float64 {
	if d > 0 {
		return x[first : first+len(s)]
	}
	for i := range s {
		s[i] = x[0]
	}
	return s
}

// powStrips is what powers need of memory for a part of a strip.
type powStrips struct{ x, y [256]float64 }

// setPow sets the entries of powers to functions that compute parts of strips by the functions of a table for
// float64.
func setPow(t *table[float32], wide *table[float64]) {
	var pool = sync.Pool{New: func() any { return new(powStrips) }}
	log, mul, exp := wide.unary[Log], wide.binary[Mul], wide.unary[Exp]
	// Element i of a result is made of elements i*dx and i*dy.
	pow := func(z, x, y []float32, dx, dy int) {
		s := pool.Get().(*powStrips)
		defer pool.Put(s)
		for first := 0; first < len(z); first += len(s.x) {
			part := z[first:min(len(z), first+len(s.x))]
			n := len(part)
			for i := range n {
				s.x[i] = abs(float64(x[(first+i)*dx]))
				s.y[i] = float64(y[(first+i)*dy])
			}
			log(s.x[:n], s.x[:n])
			mul(s.x[:n], s.x[:n], s.y[:n])
			exp(s.x[:n], s.x[:n])
			for i := range n {
				if v, e := x[(first+i)*dx], y[(first+i)*dy]; v > 0 && v <= math.MaxFloat32 && abs(e) <= math.MaxFloat32 {
					part[i] = float32(s.x[i])
				} else {
					part[i] = pow32(v, e)
				}
			}
		}
	}
	t.binary[Pow] = checkedBinary(func(z, x, y []float32) { pow(z, x, y, 1, 1) })
	t.binaryScalar[Pow] = checkedBinaryScalar(func(z, x []float32, y float32) { pow(z, x, []float32{y}, 1, 0) })
	t.scalarBinary[Pow] = checkedScalarBinary(func(z []float32, x float32, y []float32) {
		pow(z, []float32{x}, y, 0, 1)
	})
}
