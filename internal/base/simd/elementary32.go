package simd

import (
	"math"

	"github.com/opgen/opgen/internal/base/simd/approx"
)

// The functions below are those of elementary[float32], written for processors in Go: they hold numbers of
// float32 in float64, in which products are exact. Sums of products are then rounded twice, to float64 and to
// float32. That is as good as once unless the first rounding gives a number half-way between two numbers of
// float32, or one below the least normal number. In the first case, and for arguments that may lead to the
// second one, they call the function that they stand for.

var single = elementaryOf[float32]()

// constants32 are those of approx.Single, in arrays, so that no index is compared with a length.
var constants32 = struct {
	log2e, ln2High, ln2Low float64
	half                   float64 // the square root of 1/2
	exp                    [5]float64
	log                    [4]float64
	phi                    [11]float64
	density                [5]float64
	top, rest              float64
	zero, pole, phiRest    float64
}{
	log2e: approx.Single.Log2E, ln2High: approx.Single.Ln2High, ln2Low: approx.Single.Ln2Low, half: approx.Single.SqrtHalf,
	exp: [5]float64(approx.Single.Exp), log: [4]float64(approx.Single.Log), phi: [11]float64(approx.Single.Phi),
	density: [5]float64(approx.Single.Density),
	top:     approx.Single.DensityTop, rest: approx.Single.DensityRest,
	zero: approx.Single.PhiZero, pole: approx.Single.PhiPole, phiRest: approx.Single.PhiRest,
}

// near returns the float32 next to s.
func near(s float64) float64 { return float64(float32(s)) }

// nearest52, added to a small number, leaves the nearest integer in the low bits of the sum.
const nearest52 = 0x1.8p52

// whole returns the integer next to x, as a number and as an integer.
func whole(x float64) (number float64, n int64) {
	t := x + nearest52
	return t - nearest52, int64(math.Float64bits(t) - math.Float64bits(nearest52))
}

// power64 returns 2^n.
func power64(n int64) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// reduce32 is reduce of elementary[float32]. It is not ok where a sum is half-way between two numbers.
func reduce32(x float64) (n int64, e float64, ok bool) {
	c := &constants32
	number, n := whole(float64(x * c.log2e))
	// The first difference has no more bits than a float32.
	s := x - float64(number*c.ln2High) - float64(number*c.ln2Low)
	r := near(s)
	a, b := float64(c.exp[1]*r)+c.exp[0], float64(c.exp[3]*r)+c.exp[2]
	if halfway(s) || halfway(a) || halfway(b) {
		return 0, 0, false
	}
	square := near(r * r)
	a, b = near(a), near(b)
	a = float64(b*square) + a
	high := near(square * square)
	b = float64(c.exp[4]*high) + near(a)
	if halfway(a) || halfway(b) {
		return 0, 0, false
	}
	e = float64(square*near(b)) + r
	return n, near(e), !halfway(e)
}

func exp32(x float64) float64 {
	y := x
	if y < approx.Single.ExpLow {
		y = approx.Single.ExpLow
	}
	if y > approx.Single.ExpHigh {
		y = approx.Single.ExpHigh
	}
	n, e, ok := reduce32(y)
	if !ok || x != x {
		return float64(single.exp(float32(x)))
	}
	return near(near(e+1) * power64(n))
}

func tanh32(x float64) float64 {
	y := math.Abs(x)
	if y > approx.Single.TanhHigh {
		y = approx.Single.TanhHigh
	}
	n, e, ok := reduce32(-2 * y)
	if !ok || x != x {
		return float64(single.tanh(float32(x)))
	}
	p := float32(power64(n))
	t := float32(float32(e) * p)
	return math.Copysign(float64(((1-p)-t)/((1+p)+t)), x)
}

func sigmoid32(x float64) float64 {
	if !(x > -85) { // the result may be a NaN, or nearly as small as the least normal number
		return float64(single.sigmoid(float32(x)))
	}
	y := -math.Abs(x)
	if y < approx.Single.ExpLow {
		y = approx.Single.ExpLow
	}
	n, v, ok := reduce32(y)
	if !ok {
		return float64(single.sigmoid(float32(x)))
	}
	e := float32(v)
	sum := e + 1
	p := float32(float64(sum) * power64(n))
	q := p + 1
	if x >= 0 {
		return float64(1 / q)
	}
	lost := (e - (sum - 1)) - (p - (q - 1))
	z := p / q
	s := float64(float64(float32(lost*(1-z)))*float64(z)) + float64(z)
	if halfway(s) {
		return float64(single.sigmoid(float32(x)))
	}
	return near(s)
}

func log32(x float64) float64 {
	if !(x >= 0x1p-126 && x <= math.MaxFloat32) {
		return float64(single.log(float32(x)))
	}
	c := &constants32
	half := math.Float64bits(c.half)
	b := math.Float64bits(x) + (1023<<52 - half)
	exponent := math.Float64frombits(b>>52-1023+math.Float64bits(nearest52)) - nearest52
	f := math.Float64frombits(b&(1<<52-1)+half) - 1
	s := near(f / near(f+2))
	z := near(s * s)
	low, high := float64(c.log[1]*z)+c.log[0], float64(c.log[3]*z)+c.log[2]
	if halfway(low) || halfway(high) {
		return float64(single.log(float32(x)))
	}
	low, high = near(low), near(high)
	p := float64(high*near(z*z)) + low
	if halfway(p) {
		return float64(single.log(float32(x)))
	}
	square := near(near(f*0.5) * f)
	r := float64(z*near(p)) + square
	if halfway(r) {
		return float64(single.log(float32(x)))
	}
	t := float64(s*near(r)) + near(exponent*c.ln2Low)
	if halfway(t) {
		return float64(single.log(float32(x)))
	}
	y := float64(exponent*c.ln2High) + near(f-near(square-near(t)))
	if halfway(y) {
		return float64(single.log(float32(x)))
	}
	return near(y)
}

// bell32 is bell of elementary[float32]. It is not ok where a sum is half-way between two numbers.
func bell32(t float64) (n int64, y, rest float64, ok bool) {
	c := &constants32
	square := near(t * t)
	number, n := whole(float64(square * (c.log2e * -0.5)))
	a := float64(number*(2*c.ln2High)) + square
	b := near(square-float64(t*t)) - float64(number*(2*c.ln2Low)) // the first difference is exact in float64
	if halfway(a) || halfway(b) {
		return 0, 0, 0, false
	}
	r := near(near(a) - near(b))
	low, high := float64(c.density[1]*r)+c.density[0], float64(c.density[3]*r)+c.density[2]
	if halfway(low) || halfway(high) {
		return 0, 0, 0, false
	}
	r2 := near(r * r)
	low = near(low)
	if high = float64(c.density[4]*r2) + near(high); halfway(high) {
		return 0, 0, 0, false
	}
	if low = float64(near(high)*r2) + low; halfway(low) {
		return 0, 0, 0, false
	}
	s := float64(r2*near(low)) + c.rest
	if halfway(s) {
		return 0, 0, 0, false
	}
	e := float64(r*(c.top*-0.5)) + near(s)
	if halfway(e) {
		return 0, 0, 0, false
	}
	v := near(e)
	y = near(v + c.top)
	return n, y, near(v - near(y-c.top)), true
}

// smallBell is up to where squares and their rests may be below the least normal number.
const smallBell = 0x1p-40

func density32(x float64) float64 {
	t := math.Abs(x)
	if t > approx.Single.DensityHigh {
		t = approx.Single.DensityHigh
	}
	n, y, _, ok := bell32(t)
	if !ok || !(t >= smallBell || t == 0) {
		return float64(single.density(float32(x)))
	}
	return near(y * power64(n))
}

func phi32(x float64) float64 {
	c := &constants32
	w := math.Abs(x)
	if w > approx.Single.PhiHigh {
		w = approx.Single.PhiHigh
	}
	n, y, rest, ok := bell32(w)
	if !ok || !(w >= smallBell || w == 0) {
		return float64(single.phi(float32(x)))
	}
	u := near(near(w-c.zero) / near(w+c.pole))
	p := &c.phi
	a, b, d, e, g := float64(p[2]*u)+p[1], float64(p[4]*u)+p[3], float64(p[6]*u)+p[5], float64(p[8]*u)+p[7], float64(p[10]*u)+p[9]
	if halfway(a) || halfway(b) || halfway(d) || halfway(e) || halfway(g) {
		return float64(single.phi(float32(x)))
	}
	a, b, d, e, g = near(a), near(b), near(d), near(e), near(g)
	square := near(u * u)
	if e = float64(g*square) + e; halfway(e) {
		return float64(single.phi(float32(x)))
	}
	if d = float64(near(e)*square) + d; halfway(d) {
		return float64(single.phi(float32(x)))
	}
	if b = float64(near(d)*square) + b; halfway(b) {
		return float64(single.phi(float32(x)))
	}
	if a = float64(near(b)*square) + a; halfway(a) {
		return float64(single.phi(float32(x)))
	}
	start := near(w + p[0])
	product := float64(near(a) * u)
	s := product + start
	if halfway(s) {
		return float64(single.phi(float32(x)))
	}
	sum := float32(s)
	l := product + near(start-float64(sum))
	tail := near(y / float64(sum))
	inverse := float64(math.Float32frombits(uint32(approx.Single.Inverse) - math.Float32bits(sum)))
	if halfway(l) {
		return float64(single.phi(float32(x)))
	}
	lost := near(near(l) - near(near(near(start-w)-p[0])-c.phiRest))
	v := rest - float64(tail*lost)
	if halfway(v) {
		return float64(single.phi(float32(x)))
	}
	r := float64(near(v)*inverse) + tail
	if halfway(r) {
		return float64(single.phi(float32(x)))
	}
	tail = near(near(r) * power64(n))
	if x > 0 {
		return near(1 - tail)
	}
	return tail
}
