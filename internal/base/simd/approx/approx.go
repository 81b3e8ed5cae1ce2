// Package approx holds the constants of the approximations by which package simd computes elementary
// functions.
//
// The polynomials are minimax approximations, found by the algorithm of Remez in decimal arithmetic of 70
// digits, and rounded to the element type. Coefficients are listed from the lowest power.
package approx

// Constants are those for one element type. All are exact in that type.
type Constants struct {
	// Mantissa is the number of bits of the fraction of an element, and Bias is that of its exponent.
	Mantissa, Bias uint
	// Magic is 1.5 * 2^Mantissa. Added to a small number, it leaves the nearest integer in the low bits of
	// the sum.
	Magic float64

	// ExpLow and ExpHigh bound the arguments of exp: below, the result is 0, and above it is infinite. At and
	// below Expm1Low, expm1 is -1.
	ExpLow, ExpHigh, Expm1Low float64
	// Log2E is 1/log(2). Ln2High + Ln2Low is log(2), where products of Ln2High with exponents are exact.
	Log2E, Ln2High, Ln2Low float64
	// Exp approximates (e^r - 1 - r)/r^2 for |r| <= log(2)/2.
	Exp []float64

	// MinNormal is the least normal number, and LogScale a power of two that makes subnormal numbers normal.
	MinNormal, LogScale, LogScaleExponent float64
	// SqrtHalf is the square root of 1/2.
	SqrtHalf float64
	// Log approximates (log((1 + s)/(1 - s))/s - 2)/z, where z = s^2, for (1 + s)/(1 - s) between the square
	// roots of 1/2 and 2.
	Log []float64

	// TwoByPi is 2/pi, and the sum of HalfPi is pi/2. Products of its first three with integers are exact up
	// to SinBound.
	TwoByPi  float64
	HalfPi   [4]float64
	SinBound float64
	// Sin approximates (1 - sin(r)/r)/z, and Cos approximates (cos(r) - 1 + z/2)/z^2, where z = r^2, for |r|
	// <= pi/4.
	Sin, Cos []float64

	// TanhHigh is where tanh becomes 1.
	TanhHigh float64

	// PhiHigh is where the distribution function of -t becomes 0.
	PhiHigh float64
	// HighBits masks the higher half of a number's bits, so that its square is exact.
	HighBits uint64
	// For a standard normal variable X, P(X > t) is e^(-t^2/2)/sqrt(2*pi)/(t + d), where d falls from 0.8 to
	// 0 as t grows from 0. PhiRest + Phi approximates d, where k is PhiPole and a is PhiZero, in powers of u
	// = (t - a)/(t + k), for t up to PhiHigh. PhiRest is what is left of d where u is 0.
	PhiZero, PhiPole, PhiRest float64
	Phi                       []float64
	// Inverse less the bits of a positive number gives those of its inverse, within an eighth.
	Inverse uint64
	// DensityHigh is where the density of the normal distribution becomes 0. DensityTop + DensityRest is that
	// at 0.
	DensityHigh, DensityTop, DensityRest float64
	// Density approximates (e^(-r/2) - 1 + r/2)/r^2 times the density at 0, for |r| <= log(2).
	Density []float64
}

// Single holds the constants for float32.
var Single = Constants{
	Mantissa: 23, Bias: 127, Magic: 0x1.8p23,
	ExpLow: -104, ExpHigh: 89, Expm1Low: -18,
	Log2E: 0x1.715476p0, Ln2High: 0x1.62e8p-1, Ln2Low: -0x1.e8082ep-16,
	Exp: []float64{0x1p-1, 0x1.5554ap-3, 0x1.55544cp-5, 0x1.12339ep-7, 0x1.6e3a98p-10},

	MinNormal: 0x1p-126, LogScale: 0x1p24, LogScaleExponent: 24, SqrtHalf: 0x1.6a09e6p-1,
	Log: []float64{0x1.555554p-1, 0x1.999c26p-2, 0x1.23d3ep-2, 0x1.f13aeap-3},

	TwoByPi: 0x1.45f306p-1, HalfPi: [4]float64{0x1.92p0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68c234p-39}, SinBound: 12000,
	Sin: []float64{0x1.555546p-3, -0x1.11076p-7, 0x1.9952fap-13},
	Cos: []float64{0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e80cp-16},

	TanhHigh: 10,

	PhiHigh: 14.5, HighBits: 0xfffff000, PhiZero: 0, PhiPole: 3.75, PhiRest: -0x1.aaf4e6p-26,
	Phi: []float64{
		0x1.988454p-1, -0x1.5cd84cp0, 0x1.5c9cd8p-3, 0x1.638558p-1, 0x1.6afa56p-3, -0x1.1338eep-1,
		-0x1.01499p-3, -0x1.ff1d14p-1, 0x1.7f926ep1, -0x1.46df3cp1, 0x1.7c12dcp-1,
	},
	Inverse:     0x7eec0000,
	DensityHigh: 14.5, DensityTop: 0x1.988454p-2, DensityRest: -0x1.857936p-27,
	Density: []float64{
		0x1.988454p-5, -0x1.1057a6p-7, 0x1.105764p-10, -0x1.b59p-14, 0x1.243558p-17,
	},
}

// Double holds the constants for float64.
var Double = Constants{
	Mantissa: 52, Bias: 1023, Magic: 0x1.8p52,
	ExpLow: -746, ExpHigh: 710, Expm1Low: -38,
	Log2E: 0x1.71547652b82fep0, Ln2High: 0x1.62e42fefa4p-1, Ln2Low: -0x1.8432a1b0e2634p-43,
	Exp: []float64{
		0x1p-1, 0x1.5555555555559p-3, 0x1.555555555553ep-5, 0x1.111111110f6abp-7, 0x1.6c16c16c1f0e1p-10,
		0x1.a01a01afe90cbp-13, 0x1.a01a017bbc701p-16, 0x1.71ddf8437ff9cp-19,
		0x1.27e536111d99bp-22, 0x1.af5ee5c33a6abp-26, 0x1.1ee8fd00fbecfp-29,
	},

	MinNormal: 0x1p-1022, LogScale: 0x1p54, LogScaleExponent: 54, SqrtHalf: 0x1.6a09e667f3bcdp-1,
	Log: []float64{
		0x1.5555555555593p-1, 0x1.999999997f9f3p-2, 0x1.249249422ab19p-2, 0x1.c71c51d76253ap-3, 0x1.746649c97f721p-3,
		0x1.39a09299224bap-3, 0x1.2f11a031eabcep-3,
	},

	TwoByPi: 0x1.45f306dc9c883p-1, SinBound: 1 << 20,
	HalfPi: [4]float64{0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104},
	Sin: []float64{
		0x1.5555555555548p-3, -0x1.111111110f73p-7, 0x1.a01a019be9213p-13, -0x1.71de35552b339p-19, 0x1.ae5e4b83f39ddp-26,
		-0x1.5d8b55a48acd3p-33,
	},
	Cos: []float64{
		0x1.555555555554bp-5, -0x1.6c16c16c1500dp-10, 0x1.a01a019c8dd24p-16, -0x1.27e4f7f050c7fp-22, 0x1.1ee9dacc3d876p-29,
		-0x1.8fa5ed02c5e6fp-37,
	},

	TanhHigh: 20,

	PhiHigh: 39, HighBits: 0xfffffffff8000000, PhiZero: 0.5, PhiPole: 4.25, PhiRest: 0x1.86362708a135cp-56,
	Phi: []float64{
		0x1.483b5873d8cc7p-1, -0x1.4678e077ab235p0, 0x1.1e4184143349p-1, 0x1.1b60d88f46316p-1, -0x1.948c438893e78p-2,
		-0x1.09827c156c853p-1, 0x1.12c8c662ffceap-2, 0x1.1d79d363a97c2p-1, -0x1.ddcb4db8734e1p-4, -0x1.2b2188b7754cdp-1,
		-0x1.f7bfce0e406f7p-5, 0x1.1f0c7bb1e797ep-1, 0x1.f23f5c7a54dafp-3, -0x1.e0697ccdc1d3ap-2, -0x1.a6f0bfaa657dep-2,
		0x1.38f84540aa8e6p-2, 0x1.d6014b8ea6ee3p-1, -0x1.1170dc55b80d1p1, 0x1.510fd42449e66p2, -0x1.7832d436f37a2p3,
		0x1.1432a1933ead4p4, -0x1.06a81cda1964dp4, 0x1.47f2157a1d9f8p3, -0x1.06da89d80bc3dp2, 0x1.ef33cb70736ffp-1,
		-0x1.a3b4c185c375p-4,
	},
	Inverse:     0x7fde6238502484ba,
	DensityHigh: 40, DensityTop: 0x1.9884533d43651p-2, DensityRest: -0x1.cbc0d30ebfd15p-56,
	Density: []float64{
		0x1.9884533d43651p-5, -0x1.1058377e2cee3p-7, 0x1.1058377e2cecep-10, -0x1.b3c058c9dedadp-14, 0x1.22803b31479d2p-17,
		-0x1.4c0043b29e34fp-21, 0x1.4c004388fd2c2p-25, -0x1.271c793188c29p-29, 0x1.d82e4091480b6p-34, -0x1.582f1bb04eb7ap-38,
		0x1.c9d7a0a639175p-43,
	},
}

// Turn approximates cos(2*pi*x/2^53) for x from 0 to 2^53, which is sin(2*pi*t/2^53) for t = |x - 2^52| -
// 2^51: the sum of Turn[i] * t^(2*i + 1).
var Turn = []float64{
	0x1.921fb54442d18p-51, -0x1.4abbce625be52p-154, 0x1.466bc6775aa7dp-259, -0x1.32d2cce627c86p-365, 0x1.5078348551854p-472,
	-0x1.e3074dfaf87afp-580, 0x1.e8f3675ee37ddp-688, -0x1.6f7acdb8f658p-796, 0x1.9d462020fcc78p-905,
}

// PowMost bounds exponents of powers. Logarithms of numbers other than 1 are beyond 2^-54, so exponents
// beyond the bound give 0 or +Inf at the bound, too, and their products with logarithms are finite.
const PowMost = 1 << 70

// LongLogHigh + LongLogLow is 2/3.
const LongLogHigh, LongLogLow = 0x1.5555555555555p-1, 0x1.5555555555555p-55

// LongLog approximates (((log((1 + s)/(1 - s))/s - 2)/z - 2/3)/z, with s and z as in Constants.Log, for
// logarithms of more bits than a float64 has.
var LongLog = [8]float64{
	0x1.9999999999996p-2, 0x1.2492492492f56p-2, 0x1.c71c71c595952p-3, 0x1.745d1829ef8d8p-3, 0x1.3b13649a0329bp-3,
	0x1.11207708dcf0ap-3, 0x1.de3c19824b364p-4, 0x1.ead18b87f5c9dp-4,
}
