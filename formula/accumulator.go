package formula

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
)

// accumulator holds the partial result of a reduction. Real numbers are in v, integers in w.
type accumulator struct {
	kind reduction.Kind
	v    float64 // sum, product or extreme so far
	w    int     // the same, for integers
	sum  float64 // sum of exp(x - v), for logsumexp
	n    int
}

func newAccumulator(kind reduction.Kind) accumulator {
	return accumulator{kind: kind, v: kind.Identity(), w: kind.IntegerIdentity()}
}

// add reduces the value of one element into a.
func (a *accumulator) add(e counted) {
	a.join(accumulator{kind: a.kind, v: e.x, w: e.i, sum: 1, n: 1})
}

// join merges b into a, as the accumulator of the elements that follow those of a.
func (a *accumulator) join(b accumulator) {
	a.n += b.n
	if a.kind == reduction.LogSumExp {
		a.exponentials(b)
		return
	}
	a.v, a.w = a.kind.Join()(a.v, b.v), a.kind.IntegerJoin()(a.w, b.w)
}

// exponentials merges the streaming logsumexp b into a: of two sums of exp(x - max), it rescales the one with
// the smaller maximum.
func (a *accumulator) exponentials(b accumulator) {
	if b.v <= a.v {
		if !math.IsInf(a.v, 0) {
			a.sum += float64(b.sum * math.Exp(b.v-a.v))
		}
		return
	}
	a.sum = float64(a.sum*math.Exp(a.v-b.v)) + b.sum
	a.v = max(a.v, b.v)
}

// value returns the result of a real reduction. A logsumexp is relative to the maximum v.
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

// integer returns the result of an integer reduction.
func (a *accumulator) integer() int {
	if a.kind == reduction.Count {
		return a.n
	}
	return a.w
}
