package dtype

import "math"

// f16Bits returns x as IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction.
func f16Bits(x float32) uint16 {
	b := math.Float32bits(x)
	sign, abs := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case abs > 0x7f800000: // NaN, made quiet
		return sign | 0x7e00 | uint16(abs>>13&0x1ff)
	case abs >= 0x477ff000: // 65520, half way from the largest number to the next power of two
		return sign | 0x7c00
	case abs < 0x38800000: // below 2^-14, a multiple of 2^-24, which is what floats from 0.5 to 1 are
		return sign | uint16(math.Float32bits(math.Float32frombits(abs)+0.5)-0x3f000000)
	}
	abs += 0xfff + abs>>13&1
	return sign | uint16((abs-0x38000000)>>13)
}

func f16Value(h uint16) float32 {
	sign, exp, frac := uint32(h&0x8000)<<16, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// bf16Bits returns x as bfloat16: the upper half of a float32.
func bf16Bits(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40 // a NaN whose fraction lies in the lower half stays one
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func bf16Value(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
