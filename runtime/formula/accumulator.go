package formula

import "math"

// accumulator folds values one after the other: real numbers in v, whole numbers in w.
type accumulator struct {
	kind string
	v    float64 // the sum, the product, the extreme
	w    int     // the same of whole numbers
	sum  float64 // of exponentials relative to v, for logsumexp
	n    int
}

func newAccumulator(kind string) accumulator {
	a := accumulator{kind: kind}
	switch kind {
	case "prod", "all":
		a.v, a.w = 1, 1
	case "max", "logsumexp":
		a.v, a.w = negativeInfinity, math.MinInt
	case "min":
		a.v, a.w = math.Inf(1), math.MaxInt
	}
	return a
}

// add adds a value that stands for one element.
func (a *accumulator) add(e counted) {
	a.join(accumulator{kind: a.kind, v: e.x, w: e.i, sum: 1, n: 1})
}

// join adds the values of another accumulator, which come behind.
func (a *accumulator) join(b accumulator) {
	a.n += b.n
	switch a.kind {
	case "sum", "mean":
		a.v, a.w = a.v+b.v, a.w+b.w
	case "prod":
		a.v, a.w = a.v*b.v, a.w*b.w
	case "max", "any":
		a.v, a.w = max(a.v, b.v), max(a.w, b.w)
	case "min", "all":
		a.v, a.w = min(a.v, b.v), min(a.w, b.w)
	case "logsumexp":
		a.exponentials(b)
	}
}

// exponentials adds sums of exponentials, relative to the greater of the two exponents.
func (a *accumulator) exponentials(b accumulator) {
	if b.v <= a.v {
		if !math.IsInf(a.v, 0) {
			a.sum += b.sum * math.Exp(b.v-a.v)
		}
		return
	}
	a.sum = a.sum*math.Exp(a.v-b.v) + b.sum
	a.v = max(a.v, b.v)
}

// value returns the result as a real number.
func (a *accumulator) value() float64 {
	switch a.kind {
	case "mean":
		return a.v / float64(a.n)
	case "count":
		return float64(a.n)
	case "logsumexp":
		if math.IsInf(a.v, 0) || math.IsNaN(a.v) {
			return 0
		}
		return math.Log(a.sum)
	}
	return a.v
}

// integer returns the result as a whole number.
func (a *accumulator) integer() int {
	if a.kind == "count" {
		return a.n
	}
	return a.w
}
