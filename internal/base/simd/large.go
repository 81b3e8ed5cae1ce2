package simd

import (
	"math"
	"math/bits"
)

// twoByPi holds the bits of 2/pi after the point, in words of 64 bits.
var twoByPi = [...]uint64{
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
}

// window returns 64 bits of 2/pi, of which the first is that of 2^-(1+first).
func window(first int) uint64 {
	if first < 0 {
		return twoByPi[0] >> -first
	}
	i, shift := first/64, first%64
	return twoByPi[i]<<shift | twoByPi[i+1]>>(64-shift)
}

// largeQuadrant returns the integer n next to x/(pi/2), of which only the lowest bits are right, and the
// difference x - n*pi/2, for |x| >= 2^10. It multiplies by as many bits of 2/pi as matter, as Payne and Hanek
// proposed.
func largeQuadrant(x float64) (n uint64, r float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, math.NaN()
	}
	b := math.Float64bits(x)
	mantissa := b&(1<<52-1) | 1<<52
	exponent := int(b>>52&0x7ff) - 1075 // |x| is mantissa * 2^exponent
	// Bits of 2/pi from 2^(2-exponent) on give multiples of 4 quadrants. The product with the next 192 bits
	// is a number of quadrants times 2^190, and what overflows is a multiple of 4 quadrants, too.
	first := exponent - 2
	w0, w1, w2 := window(first), window(first+64), window(first+128)
	h2, _ := bits.Mul64(w2, mantissa)
	h1, l1 := bits.Mul64(w1, mantissa)
	middle, carry := bits.Add64(l1, h2, 0)
	high, _ := bits.Add64(w0*mantissa, h1, carry)
	n = high >> 62
	// The fraction of a quadrant has the other bits. Above one half, it is taken from the next quadrant.
	high, middle = high<<2|middle>>62, middle<<2
	negative := high>>63 != 0
	if negative {
		n++
		middle, carry = bits.Sub64(0, middle, 0)
		high, _ = bits.Sub64(0, high, carry)
	}
	r = fraction(high, middle) * (math.Pi / 2)
	if negative {
		r = -r
	}
	if x < 0 {
		n, r = -n, -r
	}
	return n & 3, r
}

// fraction returns high * 2^-64 + low * 2^-128.
func fraction(high, low uint64) float64 {
	exponent := -64
	if high == 0 {
		high, low, exponent = low, 0, -128
	}
	zeros := bits.LeadingZeros64(high)
	return math.Ldexp(float64(high<<zeros|low>>(64-zeros)), exponent-zeros)
}
