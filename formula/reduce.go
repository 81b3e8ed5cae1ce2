package formula

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// reduceReal compiles a reduction whose result is a real number. Sums add elements in loop order.
func (c *code) reduceReal(r *term.Reduction) func(*frame) float64 {
	each, x := c.loop(r.Vars, r.Guard), c.real(r.Body)
	switch r.Kind {
	case reduction.Sum:
		return func(f *frame) float64 {
			s := 0.0
			each(f, func(f *frame) { s += x(f) })
			return s
		}
	case reduction.Mean:
		return func(f *frame) float64 {
			s, n := 0.0, 0
			each(f, func(f *frame) { s += x(f); n++ })
			return s / float64(n)
		}
	case reduction.Prod:
		return func(f *frame) float64 {
			s := 1.0
			each(f, func(f *frame) { s *= x(f) })
			return s
		}
	case reduction.Variance:
		return func(f *frame) float64 {
			mean, n := moments(f, each, x)
			s := 0.0
			each(f, func(f *frame) { d := x(f) - mean; s += float64(d * d) })
			return s / n
		}
	case reduction.LogSumExp:
		most := c.real(r.At[0])
		return func(f *frame) float64 {
			top := most(f)
			if math.IsInf(top, 0) || math.IsNaN(top) {
				return 0
			}
			s := 0.0
			each(f, func(f *frame) { s += math.Exp(x(f) - top) })
			return math.Log(s)
		}
	}
	if r.Kind == reduction.Min {
		return func(f *frame) float64 {
			v := math.Inf(1)
			each(f, func(f *frame) { v = min(v, x(f)) })
			return v
		}
	}
	return func(f *frame) float64 {
		v := negativeInfinity
		each(f, func(f *frame) { v = max(v, x(f)) })
		return v
	}
}

// moments returns the mean and the number of elements. It sums the differences from the first element, so
// that the mean of equal elements is exact.
func moments(f *frame, each func(*frame, func(*frame)), x func(*frame) float64) (mean, n float64) {
	s, first := 0.0, 0.0
	each(f, func(f *frame) {
		v := x(f)
		if n == 0 {
			first = v
		}
		s += v - first
		n++
	})
	return first + s/n, n
}

// reduceInteger compiles a reduction whose result is an integer.
func (c *code) reduceInteger(r *term.Reduction) func(*frame) int {
	each := c.loop(r.Vars, r.Guard)
	if r.Kind == reduction.Count {
		return func(f *frame) int {
			n := 0
			each(f, func(*frame) { n++ })
			return n
		}
	}
	if r.IsOrder() {
		o := c.orderOf(r)
		return func(f *frame) int { return o.find(f, o.sort(f)) }
	}
	if r.Kind.Is(reduction.Argument) {
		return c.argument(r, each)
	}
	x := c.integer(r.Body)
	fold, first, flip := r.Kind.IntegerJoin(), r.Kind.IntegerIdentity(), 0
	if c.p.Unsigned(r.Body) && r.Kind.Is(reduction.Extreme) {
		flip = math.MinInt // flipping the sign bit maps unsigned order to signed order
	}
	return func(f *frame) int {
		v := first
		each(f, func(f *frame) { v = fold(v, x(f)^flip) })
		return v ^ flip
	}
}

// argument compiles argmax or argmin: the index of the first extreme element, or its row-major number if
// several indices are reduced. NaN counts as more extreme than all numbers.
func (c *code) argument(r *term.Reduction, each func(*frame, func(*frame))) func(*frame) int {
	if r.Body.Kind == term.Integer {
		return extremeOf(c, r, each, c.ordered(r.Body)) // float64 does not represent all integers
	}
	return extremeOf(c, r, each, c.real(r.Body))
}

func extremeOf[V int | float64](c *code, r *term.Reduction, each func(*frame, func(*frame)), x func(*frame) V) func(*frame) int {
	number, least := c.integer(r.Number), r.Kind == reduction.ArgMin
	return func(f *frame) int {
		var best V
		found, at := false, 0
		each(f, func(f *frame) {
			v := x(f)
			nan, beyond := v != v, v > best && !least || v < best && least
			if found && (best != best || !nan && !beyond) {
				return
			}
			best, found, at = v, true, number(f)
		})
		return at
	}
}
