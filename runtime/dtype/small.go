package dtype

import "math"

// The floating-point types of 8 bits. Those of the Open Compute Project (OCP 8-bit Floating Point
// Specification, 1.0) are E4M3, which has no infinities, and E5M2, which is a short IEEE 754. FNUZ has no
// negative zero: its code is the only NaN, and the bias is one more.

// f8e4m3 returns the value of a code with 4 bits of exponent and 3 of fraction.
func f8e4m3(b byte) float64 {
	if b&0x7f == 0x7f {
		return math.NaN()
	}
	return small(b, 3, 7)
}

// f8e5m2 returns the value of a code with 5 bits of exponent and 2 of fraction.
func f8e5m2(b byte) float64 {
	switch {
	case b&0x7f == 0x7c:
		return math.Inf(1 - int(b>>6))
	case b&0x7f > 0x7c:
		return math.NaN()
	}
	return small(b, 2, 15)
}

func f8e4m3fnuz(b byte) float64 {
	if b == 0x80 {
		return math.NaN()
	}
	return small(b, 3, 8)
}

func f8e5m2fnuz(b byte) float64 {
	if b == 0x80 {
		return math.NaN()
	}
	return small(b, 2, 16)
}

// f8e8m0 returns the value of a code that is an exponent alone, as scales of blocks have it.
func f8e8m0(b byte) float64 {
	if b == 0xff {
		return math.NaN()
	}
	return math.Ldexp(1, int(b)-127)
}

// small returns the value of a finite number with so many bits of fraction, whose exponent has a bias.
func small(b byte, fraction, bias int) float64 {
	exponent, m := int(b&0x7f)>>fraction, int(b)&(1<<fraction-1)
	if exponent == 0 {
		exponent = 1 // below the least normal number
	} else {
		m |= 1 << fraction
	}
	return math.Copysign(math.Ldexp(float64(m), exponent-bias-fraction), 1-2*float64(b>>7))
}
