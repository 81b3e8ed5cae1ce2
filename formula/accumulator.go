package formula

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
)

// accumulator folds values one after the other: real numbers in v, whole numbers in w.
type accumulator struct {
	kind reduction.Kind
	v    float64 // the sum, the product, the extreme
	w    int     // the same of whole numbers
	sum  float64 // of exponentials relative to v, for logsumexp
	n    int
}

func newAccumulator(kind reduction.Kind) accumulator {
	return accumulator{kind: kind, v: kind.Identity(), w: kind.IntegerIdentity()}
}

// add adds a value that stands for one element.
func (a *accumulator) add(e counted) {
	a.join(accumulator{kind: a.kind, v: e.x, w: e.i, sum: 1, n: 1})
}

// join adds the values of another accumulator, which come behind.
func (a *accumulator) join(b accumulator) {
	a.n += b.n
	if a.kind == reduction.LogSumExp {
		a.exponentials(b)
		return
	}
	a.v, a.w = a.kind.Join()(a.v, b.v), a.kind.IntegerJoin()(a.w, b.w)
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
	case reduction.Mean:
		return a.v / float64(a.n)
	case reduction.Count:
		return float64(a.n)
	case reduction.LogSumExp:
		if math.IsInf(a.v, 0) || math.IsNaN(a.v) {
			return 0
		}
		return math.Log(a.sum)
	}
	return a.v
}

// integer returns the result as a whole number.
func (a *accumulator) integer() int {
	if a.kind == reduction.Count {
		return a.n
	}
	return a.w
}
