package simd

import (
	"math"
	"unsafe"
)

// fma returns x*y + z, rounded once.
func fma[T Float](x, y, z T) T {
	if unsafe.Sizeof(x) == 8 {
		return T(fma64(float64(x), float64(y), float64(z)))
	}
	return T(fma32(float32(x), float32(y), float32(z)))
}

// fma64 returns x*y + z, rounded once.
func fma64(x, y, z float64) float64 {
	if fuses || hasFMA {
		return math.FMA(x, y, z)
	}
	return sumFMA64(x, y, z)
}

// fma32 returns x*y + z, rounded once. Where no instruction does it, the product is exact in float64, and
// rounding the sum twice differs from rounding it once only if the first rounding gives a number half-way
// between two neighbors.
func fma32(x, y, z float32) float32 {
	if fuses {
		return x*y + z
	}
	s := float64(x)*float64(y) + float64(z)
	const least = (1023 - 126) << 52 // from here on, numbers of float32 have all bits
	if !halfway(s) && math.Float64bits(s)&(1<<63-1) >= least {
		return float32(s)
	}
	return slowFMA32(x, y, z)
}

// tie is what low returns of a number that is half-way between two neighbors in float32.
const tie = 1 << 31

// low returns the bits of s that a float32 does not have, and zeros, if s is not below the least normal
// float32.
func low(s float64) uint32 {
	const others = 32 - 29
	return uint32(math.Float64bits(s)) << others
}

// halfway reports whether s, which is not below the least normal float32, is half-way between two neighbors
// in float32.
func halfway(s float64) bool { return low(s) == tie }

// slowFMA32 returns x*y + z, rounded once. It rounds the sum to the neighbor whose last bit is set unless the
// sum is exact, so that rounding again gives what rounding once does, as S. Boldo and G. Melquiond show in
// Emulation of FMA and correctly rounded sums, 2008.
func slowFMA32(x, y, z float32) float32 {
	p, w := float64(x)*float64(y), float64(z)
	s := p + w
	part := s - p
	rest := (p - (s - part)) + (w - part)
	if bits := math.Float64bits(s); rest != 0 && bits&1 == 0 && !math.IsInf(s, 0) && !math.IsNaN(s) {
		if (rest > 0) == (s > 0) {
			s = math.Float64frombits(bits + 1)
		} else {
			s = math.Float64frombits(bits - 1)
		}
	}
	return float32(s)
}

// sumFMA64 returns x*y + z, rounded once, by sums and products alone: it takes a third of the time of
// math.FMA where no instruction does it. The rests of the product and of sums are exact. They are added with
// a rounding to the neighbor whose last bit is set, unless the sum is exact, as S. Boldo and G. Melquiond
// show in Emulation of FMA and correctly rounded sums, 2008. Numbers of sizes at which a rest may not be
// exact are left to math.FMA.
func sumFMA64(x, y, z float64) float64 {
	const small, large = 0x1p-400, 0x1p400
	if a, b, c := math.Abs(x), math.Abs(y), math.Abs(z); !(a >= small && a <= large && b >= small && b <= large && (c == 0 || c >= small && c <= large)) {
		return math.FMA(x, y, z)
	}
	product, rest := exactProduct(x, y)
	t, tLow := exactSum(z, rest)
	v, vLow := exactSum(product, t)
	low, lost := exactSum(tLow, vLow)
	if bits := math.Float64bits(low); lost != 0 && bits&1 == 0 {
		if (lost > 0) == (low > 0) {
			low = math.Float64frombits(bits + 1)
		} else {
			low = math.Float64frombits(bits - 1)
		}
	}
	return v + low
}

// exactProduct returns the product rounded, and its rest. It halves the bits of both numbers, as G. W.
// Veltkamp and T. J. Dekker do.
func exactProduct(x, y float64) (product, rest float64) {
	const half = 1<<27 + 1
	a, b := float64(x*half), float64(y*half)
	a, b = a-(a-x), b-(b-y)
	c, d := x-a, y-b
	product = float64(x * y)
	return product, float64(c*d) - (((product - float64(a*b)) - float64(c*b)) - float64(a*d))
}

// exactSum returns the sum rounded, and its rest, as D. E. Knuth does.
func exactSum(x, y float64) (sum, rest float64) {
	sum = x + y
	part := sum - x
	return sum, (x - (sum - part)) + (y - part)
}
