// Package approx holds the constants of the approximations by which package simd computes elementary functions.
//
// The polynomials are minimax approximations, found by the algorithm of Remez in decimal arithmetic of 70 digits, and
// rounded to the element type. Coefficients are listed from the lowest power.
package approx

// Constants are those for one element type. All are exact in that type.
type Constants struct {
	// Mantissa is the number of bits of the fraction of an element, and Bias is that of its exponent.
	Mantissa, Bias uint
	// Magic is 1.5 * 2^Mantissa. Added to a small number, it leaves the nearest integer in the low bits of the sum.
	Magic float64

	// ExpLow and ExpHigh bound the arguments of exp: below, the result is 0, and above it is infinite. At and below
	// Expm1Low, expm1 is -1.
	ExpLow, ExpHigh, Expm1Low float64
	// Log2E is 1/log(2). Ln2High + Ln2Low is log(2), where products of Ln2High with exponents are exact.
	Log2E, Ln2High, Ln2Low float64
	// Exp approximates (e^r - 1 - r)/r^2 for |r| <= log(2)/2.
	Exp []float64

	// MinNormal is the least normal number, and LogScale a power of two that makes subnormal numbers normal.
	MinNormal, LogScale, LogScaleExponent float64
	// SqrtHalf is the square root of 1/2.
	SqrtHalf float64
	// Log approximates (log((1 + s)/(1 - s))/s - 2)/z, where z = s^2, for (1 + s)/(1 - s) between the square roots of
	// 1/2 and 2.
	Log []float64

	// TwoByPi is 2/pi, and the sum of HalfPi is pi/2. Products of its first three with integers are exact up to
	// SinBound.
	TwoByPi  float64
	HalfPi   [4]float64
	SinBound float64
	// Sin approximates (1 - sin(r)/r)/z, and Cos approximates (cos(r) - 1 + z/2)/z^2, where z = r^2, for |r| <= pi/4.
	Sin, Cos []float64

	// TanhHigh is where tanh becomes 1.
	TanhHigh float64

	// DensityTop + Center * x^2 approximates (P(X < x) - 1/2)/x, where Center is a polynomial in x^2, for a standard normal variable X and
	// |x| < PhiCenter.
	PhiCenter float64
	Center    []float64
	// PhiHigh is where the distribution function of -t becomes 0.
	PhiHigh float64
	// HighBits masks the higher half of a number's bits, so that its square is exact.
	HighBits uint64
	// P(X > t) is e^(-t^2/2)/sqrt(2*pi)/(t + d), where d falls from 0.8 to 0 as t grows from 0. Phi approximates
	// d, where k is PhiPole, in powers of u = (t - k)/(t + k), for t from PhiCenter to PhiHigh.
	PhiPole float64
	Phi     []float64
	// Inverse less the bits of a positive number gives those of its inverse, within an eighth.
	Inverse uint64
	// DensityHigh is where the density of the normal distribution becomes 0. DensityTop + DensityRest is that at 0.
	DensityHigh, DensityTop, DensityRest float64
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

	PhiCenter: 1,
	Center:    []float64{-0x1.105862p-4, 0x1.46d558p-7, -0x1.376ebp-10, 0x1.e26df8p-14, -0x1.1229b8p-17},
	PhiHigh:   14.5, HighBits: 0xfffff000, PhiPole: 2.5,
	Phi: []float64{
		0x1.4a7d9ap-2, -0x1.c78bb6p-2, 0x1.75391ap-4, 0x1.e8142p-5, -0x1.195beap-6, -0x1.2eda9cp-6, 0x1.3e953ep-9,
		0x1.807bbcp-8, -0x1.085512p-10,
	},
	Inverse:     0x7ef127ea,
	DensityHigh: 14.5, DensityTop: 0x1.988454p-2, DensityRest: -0x1.857936p-27,
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

	PhiCenter: 0.5,
	Center: []float64{
		-0x1.1058377e2cf9cp-4, 0x1.46d04297733eap-7, -0x1.37403f6e14dafp-10, 0x1.e42b0c0e30597p-14, -0x1.3ce816a1bb7ccp-17,
		0x1.652c87a786f6bp-21, -0x1.50f543aeb8b97p-25,
	},
	PhiHigh: 39, HighBits: 0xfffffffff8000000, PhiPole: 4,
	Phi: []float64{
		0x1.ce0b1e5a9c1bdp-3, -0x1.7e580950e8d7ap-2, 0x1.958b96b87704cp-3, -0x1.56771e53bd14dp-5, -0x1.a55c4815ca5e6p-6,
		0x1.601bdee645aafp-6, -0x1.0c52a07dacafdp-12, -0x1.adba43ce42564p-8, 0x1.0b40ebb2e4cdbp-9, 0x1.97f635629fed7p-10,
		-0x1.111f10285fd88p-10, -0x1.14dadbfd90004p-12, 0x1.93ca3309eccb9p-12, 0x1.28ec5fc89e703p-17, -0x1.f4a0434a521e9p-14,
		0x1.224ebcf3191d5p-16, 0x1.0bd1cb48b692fp-15, -0x1.474fde384ce0cp-17, -0x1.e397e111c6b74p-18, 0x1.da57d572d8654p-19,
		0x1.506fbc902adc1p-20, -0x1.e3e7b4139d275p-21, -0x1.10c6f44a8dbf3p-23, 0x1.0be83f5c537bbp-23,
	},
	Inverse:     0x7fde6238502484ba,
	DensityHigh: 40, DensityTop: 0x1.9884533d43651p-2, DensityRest: -0x1.cbc0d30ebfd15p-56,
}

// LongLogHigh + LongLogLow is 2/3.
const LongLogHigh, LongLogLow = 0x1.5555555555555p-1, 0x1.5555555555555p-55

// LongLog approximates (((log((1 + s)/(1 - s))/s - 2)/z - 2/3)/z, with s and z as in Constants.Log, for logarithms of
// more bits than a float64 has.
var LongLog = [8]float64{
	0x1.9999999999996p-2, 0x1.2492492492f56p-2, 0x1.c71c71c595952p-3, 0x1.745d1829ef8d8p-3, 0x1.3b13649a0329bp-3,
	0x1.11207708dcf0ap-3, 0x1.de3c19824b364p-4, 0x1.ead18b87f5c9dp-4,
}
