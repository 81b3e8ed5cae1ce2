package oracle

import (
	"math"
	"math/bits"
)

// passLanes is how many derivatives a pass computes beside each number.
const passLanes = 4

// number is a real number with a bound of its error and with derivatives: a dual number. Bounds are in units
// of the rounding error of the type in which formulas compute; they grow as rounding errors do, to first
// order. A number without an error is exact, and so are all ways to compute it. One whose error is infinite
// is not known, nor is what is made of it.
type number struct {
	v, err float64
	varies bool               // whether it has a gradient
	lanes  uint8              // by bit, on which of the elements it depends that are derived by
	d, de  [passLanes]float64 // derivatives, and bounds of their errors: 0 where it does not depend on the element
}

// on reports whether a number depends on the element of a lane.
func (x *number) on(lane int) bool { return x.lanes>>lane&1 != 0 }

// by returns a derivative times a slope. Where nothing depends on an element, the derivative is 0 whatever
// the slope is; else 0 times an infinite slope is NaN, as in a gradient.
func (x *number) by(lane int, slope float64) float64 {
	if !x.on(lane) {
		return 0
	}
	return x.d[lane] * slope
}

// within returns a number as a type with a greatest number holds it: what is so large that rounding may
// overflow is not known.
func (x number) within(most float64) number {
	if math.Abs(x.v) > most/4 && !math.IsInf(x.v, 0) {
		x.err = math.Inf(1)
	}
	for i := range x.d {
		if x.on(i) && (math.IsInf(x.err, 1) || math.Abs(x.d[i]) > most/4) {
			x.de[i] = math.Inf(1)
		}
	}
	return x
}

// exactly returns a number that the types of elements represent.
func exactly(v float64) number { return number{v: v} }

// constant returns a number that is rounded where it is used.
func constant(v float64) number {
	n := number{v: v}
	if !short(v) {
		n.err = math.Abs(v)
	}
	return n
}

// short reports whether a number has at most 24 digits, so that f32 represents it.
func short(v float64) bool { return float64(float32(v)) == v || math.IsNaN(v) || math.IsInf(v, 0) }

// add returns x + by * y, where by is 1 or -1.
func add(x, y number, by float64) number {
	out := number{v: x.v + by*y.v, err: x.err + y.err}
	if !exactSum(x.v, by*y.v, out.v) {
		out.err += math.Abs(out.v)
	}
	out.varies, out.lanes = x.varies || y.varies, x.lanes|y.lanes
	for i := range passLanes {
		if out.on(i) {
			d := x.d[i] + by*y.d[i]
			out.d[i], out.de[i] = d, x.de[i]+y.de[i]
			if size := math.Abs(x.d[i]) + math.Abs(y.d[i]); !exactSum(x.d[i], by*y.d[i], d) || math.Abs(d) < size {
				out.de[i] += size // a gradient multiplies each by what comes behind the sum, before it adds them
			}
		}
	}
	return out
}

// exactSum reports whether a sum was not rounded, also in f32.
func exactSum(x, y, sum float64) bool {
	if !short(sum) {
		return false
	}
	b := sum - x
	return (x-(sum-b))+(y-b) == 0 || math.IsInf(sum, 0)
}

// exactProduct reports whether a product was not rounded, also in f32.
func exactProduct(x, y, product float64) bool {
	return short(product) && math.FMA(x, y, -product) == 0 || math.IsInf(product, 0)
}

// mul returns x * y. Its bound has a term of second order, too: the product of two numbers near 0 that are
// known to some units only is not 0.
func mul(x, y number, unit float64) number {
	far := safety * unit
	out := number{v: x.v * y.v, err: scaled(x.v, y.err) + scaled(y.v, x.err) + scaled(x.err, y.err)*far, varies: x.varies || y.varies, lanes: x.lanes | y.lanes}
	if !exactProduct(x.v, y.v, out.v) {
		out.err += math.Abs(out.v)
	}
	for i := range passLanes {
		if !out.on(i) {
			continue
		}
		a, b := x.by(i, y.v), y.by(i, x.v)
		out.d[i] = a + b
		out.de[i] = scaled(y.v, x.de[i]) + scaled(x.d[i], y.err) + scaled(x.v, y.de[i]) + scaled(y.d[i], x.err) +
			(scaled(x.de[i], y.err)+scaled(x.err, y.de[i]))*far
		size := math.Abs(a) + math.Abs(b)
		if !exactProduct(x.d[i], y.v, a) || !exactProduct(y.d[i], x.v, b) || !exactSum(a, b, out.d[i]) || math.Abs(out.d[i]) < size {
			out.de[i] += size
		}
	}
	return out
}

// scaled returns |x| * err, and 0 if either is 0. What is made of a number that is not known is not known
// either.
func scaled(x, err float64) float64 {
	if math.IsInf(err, 1) {
		return err
	}
	if err == 0 || x == 0 {
		return 0
	}
	return math.Abs(x) * err
}

// div returns x / y. What is divided by a number that may be 0 is not known.
func div(x, y number, unit float64) number {
	v := x.v / y.v
	ay := math.Abs(y.v)
	least := ay // of what y may be
	if y.err > 0 {
		least = max(ay-safety*unit*y.err, 0)
	}
	out := number{v: v, err: over(x.err, least) + over(scaled(v, y.err), least), varies: x.varies || y.varies, lanes: x.lanes | y.lanes}
	if !exactProduct(v, y.v, x.v) || !short(v) {
		out.err += 2 * math.Abs(v)
	}
	for i := range passLanes {
		if !out.on(i) {
			continue
		}
		var a, share float64
		if x.on(i) {
			a = x.d[i] / y.v
		}
		if y.on(i) {
			share = y.d[i] / y.v
		}
		b := y.by(i, v/y.v)
		out.d[i] = a - b
		out.de[i] = over(x.de[i], least) + over(scaled(a, y.err), least) + over(scaled(v, y.de[i]), least) + over(scaled(out.err, y.de[i]), least)*safety*unit +
			over(scaled(share*ay, out.err), least) + over(over(scaled(b*ay, y.err), least), least) + 3*(math.Abs(a)+math.Abs(b))
	}
	return out
}

// over returns an error x by y, and 0 where there is none.
func over(x, y float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	return x / y
}

// neg returns -x.
func neg(x number) number {
	x.v = -x.v
	for i := range x.d {
		x.d[i] = -x.d[i]
	}
	return x
}

// curve is what a function does at a place: its value, its first two derivatives, and the size of the numbers
// of which the derivative is a difference. lost is what the oracle itself may lose of the value, and of the
// slope, where it takes differences of numbers that are greater.
type curve struct{ v, first, second, amplitude, lost float64 }

// apply returns a function of a number. Its bound has terms of second order, too: the sine of a number that
// is not known to some units is not known, also where its slope is 0.
func apply(x number, c curve, unit float64) number {
	far := safety * unit * x.err / 2
	out := number{v: c.v, err: scaled(c.first, x.err) + scaled(c.second, x.err)*far + 2*math.Abs(c.v) + c.lost/unit, varies: x.varies, lanes: x.lanes}
	for i := range passLanes {
		if !out.on(i) {
			continue
		}
		d := x.by(i, c.first)
		out.d[i] = d
		out.de[i] = scaled(c.first, x.de[i]) + scaled(x.by(i, c.second), x.err) + scaled(x.by(i, c.amplitude), x.err)*far +
			2*math.Abs(d) + 2*math.Abs(x.by(i, c.amplitude)) + scaled(x.d[i], c.lost/unit)
	}
	return out
}

// still returns a number without derivatives.
func still(x number) number { return number{v: x.v, err: x.err} }

// hull returns a number for which both x and y may stand: that of x, with a bound that reaches y.
func hull(x, y number, unit float64) number {
	out := x
	out.err = max(x.err, y.err) + apart(x.v, y.v)/unit
	out.varies, out.lanes = x.varies || y.varies, x.lanes|y.lanes
	for i := range out.d {
		out.de[i] = max(x.de[i], y.de[i]) + apart(x.d[i], y.d[i])/unit
	}
	return out
}

// apart returns how far two numbers are from each other.
func apart(x, y float64) float64 {
	if x == y || math.IsNaN(x) && math.IsNaN(y) {
		return 0
	}
	if d := math.Abs(x - y); !math.IsNaN(d) {
		return d
	}
	return math.Inf(1)
}

// safety is by how much errors may exceed their bounds of first order.
const safety = 8

// near reports whether rounding may change which of two numbers is the greater one. Errors are relative to a
// unit, but numbers in f32 that are below its least normal number lose digits, or become 0.
func near(x, y number, unit float64) bool {
	least := 0x1p-1022
	if unit > 0x1p-40 {
		least = 0x1p-126
	}
	return x.err+y.err > 0 && !(math.Abs(x.v-y.v) > max(safety*unit*(x.err+y.err), least))
}

// compensated is a sum beside what rounding took from it, by Neumaier's algorithm: equal terms are rounded
// alike, so such errors add up.
type compensated struct{ v, lost float64 }

func (s *compensated) add(x float64) {
	v := s.v + x
	if part := v - s.v; !math.IsInf(v, 0) {
		s.lost += s.v - (v - part) + (x - part)
	}
	s.v = v
}

// sum returns the sum to its last digit.
func (s compensated) sum() float64 {
	if math.IsInf(s.v, 0) {
		return s.v
	}
	return s.v + s.lost
}

// addends is numbers that are added in some order.
type addends struct {
	compensated
	size, quantum float64 // the sum of their sizes, and a power of 2 of which all of them are multiples
	last          float64 // the last one that is not 0
	run           float64 // how many of the last ones that are not 0 are equal
	most          float64 // the greatest run
	runs          float64 // the sum of the squares of all runs
}

func (s *addends) add(x float64) {
	s.compensated.add(x)
	if q := quantum(x); q > 0 {
		if s.last != x {
			s.run = 0
		}
		s.run++
		s.most = max(s.most, s.run)
		s.runs += 2*s.run - 1
		s.last = x
		s.size += math.Abs(x)
		if s.quantum == 0 || q < s.quantum {
			s.quantum = q
		}
	}
}

// exact reports whether their sum is not rounded in any order, also in f32: all sums of some of them are
// multiples of their quantum of at most 24 digits.
func (s *addends) exact() bool { return s.size <= s.quantum*0x1p24 }

// quantum returns the greatest power of 2 of which a number is a multiple; 0 for 0 and for what is not
// finite.
func quantum(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(1, exponent-53+bits.TrailingZeros64(uint64(int64(fraction*0x1p53))))
}

// bound returns a bound of what adding n numbers in some order loses: it is at most that of adding them to
// the sum of their sizes. That errors have random signs keeps it to the root of their number, where they
// differ: equal numbers are rounded alike. What adding one after the other loses is no fault either.
func (s *addends) bound(n int) float64 {
	if n < 2 {
		return 0
	}
	return scaled(s.size, 1+math.Sqrt(max(float64(n), s.runs))/2) + math.Abs(s.lost)*0x1p53
}

// sum collects the terms of a sum.
type sum struct {
	total number // but for the numbers
	n     int
	v     addends
	d     [passLanes]addends
}

func (s *sum) add(x number) {
	s.n++
	s.v.add(x.v)
	s.total.err += x.err
	if !x.varies {
		return
	}
	s.total.varies, s.total.lanes = true, s.total.lanes|x.lanes
	for i := range passLanes {
		s.d[i].add(x.d[i])
		s.total.de[i] += x.de[i]
	}
}

// result returns the sum.
func (s *sum) result() number {
	out := s.total
	out.v = s.v.sum()
	if !s.v.exact() {
		out.err += s.v.bound(s.n)
	}
	for i := range out.de {
		out.d[i] = s.d[i].sum()
		// A gradient multiplies each term by what comes behind the sum, before it adds them. So terms that
		// cancel need not, and equal ones are rounded alike.
		if d := &s.d[i]; !d.exact() || out.de[i] > 0 || math.Abs(out.d[i]) < d.size || d.most > 2 {
			out.de[i] += d.bound(s.n)
		}
	}
	return out
}
