// Package simd computes elementary operations on strips: slices of some hundred to some thousand elements.
//
// Every function gives the same bits on every machine and with every set of instructions, apart from the sign
// and the payload of a NaN. So nothing is contracted into fused multiply-adds, elementary functions are fixed
// sequences of operations, and sums have a fixed order: that of Lanes. Only Tile adds products with one
// rounding, on every machine.
//
// Functions come in portable Go, on amd64 in assembly for AVX2 and for AVX-512, and many on arm64 in assembly
// for NEON. The package takes the best that the processor has, or the one that the environment variable
// OPGEN_SIMD names: go, avx2, avx512 or neon.
//
// All slices of a call have the same length. A result may be the same slice as an operand, but may not
// otherwise overlap with one.
package simd

import (
	"fmt"
	"unsafe"
)

// Float is an element type.
type Float interface{ float32 | float64 }

// Unary is a function of one element.
type Unary uint8

// Functions of one element. The bounds of errors are those for float32, in units in the last place of the
// result (ulp). For float64, no error is known above 3 ulp.
const (
	Neg     Unary = iota // -x
	Abs                  // the absolute value of x
	Square               // x*x
	Sqrt                 // the square root of x, rounded once
	Rsqrt                // 1/sqrt(x), rounded twice
	Recip                // 1/x
	Exp                  // e^x, within 1.1 ulp
	Log                  // the natural logarithm of x, within 0.84 ulp
	Expm1                // e^x - 1, within 1.7 ulp
	Log1p                // the natural logarithm of 1 + x, within 1.5 ulp
	Sin                  // the sine of x, within 1.8 ulp, for all x
	Cos                  // the cosine of x, within 1.8 ulp, for all x
	Tanh                 // the hyperbolic tangent of x, within 2 ulp
	Sigmoid              // 1/(1 + e^-x), within 1.6 ulp
	Phi                  // the distribution function of the standard normal distribution, within 2 ulp
	Density              // the density of the standard normal distribution, e^(-x*x/2)/sqrt(2*pi), within 1 ulp
	Floor                // the greatest integer that is not above x
	Ceil                 // the least integer that is not below x
	Round                // the nearest integer, the even one of two
	Sign                 // 1 above 0, -1 below, and otherwise 0
	IsNaN                // 1 if x is a NaN, otherwise 0
	Not                  // 1 if x is 0, otherwise 0
	unaries
)

// Binary is a function of two elements.
type Binary uint8

// Functions of two elements. Comparisons are those of IEEE 754: one with a NaN is false, and Unequal is true.
const (
	Add     Binary = iota // x + y
	Sub                   // x - y
	Mul                   // x * y
	Div                   // x / y
	Max                   // Go's max: NaN if x or y is one, and -0 is less than 0
	Min                   // Go's min: NaN if x or y is one, and -0 is less than 0
	Pow                   // x^y, with the special values of math.Pow, within 1 ulp
	Less                  // 1 if x < y, otherwise 0
	AtMost                // 1 if x <= y, otherwise 0
	Equal                 // 1 if x == y, otherwise 0
	Unequal               // 1 if x != y, otherwise 0
	And                   // 1 if neither x nor y is 0, otherwise 0
	Or                    // 1 if x or y is not 0, otherwise 0
	binaries
)

// UnaryOf returns the function that sets every z[i] to f of x[i].
func UnaryOf[T Float](f Unary) func(z, x []T) { return functions[T]().unary[f] }

// BinaryOf returns the function that sets every z[i] to f of x[i] and y[i].
func BinaryOf[T Float](f Binary) func(z, x, y []T) { return functions[T]().binary[f] }

// BinaryScalarOf returns the function that sets every z[i] to f of x[i] and y.
func BinaryScalarOf[T Float](f Binary) func(z, x []T, y T) { return functions[T]().binaryScalar[f] }

// ScalarBinaryOf returns the function that sets every z[i] to f of x and y[i].
func ScalarBinaryOf[T Float](f Binary) func(z []T, x T, y []T) { return functions[T]().scalarBinary[f] }

// MulAdd sets every z[i] to w[i]*x[i] + y[i], rounded twice.
func MulAdd[T Float](z, w, x, y []T) {
	check(len(z), len(w), len(x), len(y))
	functions[T]().mulAdd(z, w, x, y)
}

// MulAddScalar sets every z[i] to w[i]*x + y[i], rounded twice.
func MulAddScalar[T Float](z, w []T, x T, y []T) {
	check(len(z), len(w), len(w), len(y))
	functions[T]().mulAddScalar(z, w, x, y)
}

// MulSubFrom sets every z[i] to y[i] - w[i]*x[i], rounded twice.
func MulSubFrom[T Float](z, w, x, y []T) {
	check(len(z), len(w), len(x), len(y))
	functions[T]().mulSubFrom(z, w, x, y)
}

// MulSub sets every z[i] to w[i]*x[i] - y[i], rounded twice.
func MulSub[T Float](z, w, x, y []T) {
	check(len(z), len(w), len(x), len(y))
	functions[T]().mulSub(z, w, x, y)
}

// Affine sets every z[i] to ((x[i]-a)-b)*c + d, each operation rounded. Operands that change nothing are 0,
// 0, 1 and -0.
func Affine[T Float](z, x []T, a, b, c, d T) {
	check(len(z), len(x), len(x), len(x))
	functions[T]().affine(z, x, a, b, c, d)
}

// Select sets every z[i] to x[i] where w[i] is not 0, and to y[i] where it is.
func Select[T Float](z, w, x, y []T) {
	check(len(z), len(w), len(x), len(y))
	functions[T]().choose(z, w, x, y)
}

// SelectPositive sets every z[i] to x[i] where w[i] is above 0, and to y[i] elsewhere, also where w[i] is a
// NaN.
func SelectPositive[T Float](z, w, x, y []T) {
	check(len(z), len(w), len(x), len(y))
	functions[T]().choosePositive(z, w, x, y)
}

// Widen sets every z[i] to x[i].
func Widen(z []float64, x []float32) {
	check(len(z), len(x), len(x), len(x))
	conversions.widen(z, x)
}

// Narrow sets every z[i] to the float32 next to x[i].
func Narrow(z []float32, x []float64) {
	check(len(z), len(x), len(x), len(x))
	conversions.narrow(z, x)
}

// Rests sets every z[i] to the float32 next to what x[i] has beyond the float32 next to it: both together
// have about twice as many bits. z[i] is 0 if the number next to x[i] is not finite.
func Rests(z []float32, x []float64) {
	check(len(z), len(x), len(x), len(x))
	conversions.rests(z, x)
}

// Fetch asks for the memory of x, which is used soon, and does not wait for it. Nothing else happens.
func Fetch[T Float](x []T) {
	conversions.fetch(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(T(0)))))
}

// Gather sets every z[i] to x[start+i*stride].
func Gather[T any](z, x []T, start, stride int) {
	if stride == 1 {
		copy(z, x[start:start+len(z)])
		return
	}
	if stride == -1 && len(z) > 0 {
		backward(z, x[start+1-len(z):start+1])
		return
	}
	for i := range z {
		z[i] = x[start]
		start += stride
	}
}

// Scatter sets z[start+i*stride] to x[i], for every element of x.
func Scatter[T any](z, x []T, start, stride int) {
	if stride == 1 {
		copy(z[start:start+len(x)], x)
		return
	}
	for _, v := range x {
		z[start] = v
		start += stride
	}
}

// check panics if one of three lengths of operands is not n.
func check(n, w, x, y int) {
	if w != n || x != n || y != n {
		panic(fmt.Sprintf("simd: operands of %d, %d and %d elements, want as many as results: %d", w, x, y, n))
	}
}
