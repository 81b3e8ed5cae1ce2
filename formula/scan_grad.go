package formula

import (
	"math"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// backScan compiles the adjoint of a scan, in one pass over a row. It returns nil if s is not a scan, or if
// its adjoint takes more than one pass.
func (c *code) backScan(s *program.Statement) func(*frame) {
	kind := reduction.Kind(0)
	if s.Value.Op == term.Reduce {
		kind = s.Value.Reduction.Kind
	}
	one := c.scanOf(s, kind != reduction.Sum && kind != reduction.Mean) // a sum's gradient needs no values
	if one == nil || one.real == nil || s.Value.Kind != term.Real {
		return nil
	}
	var gradients func(elements []counted, at [][]float64) []float64
	switch one.kind {
	case reduction.Sum, reduction.Mean:
		gradients = backSums
	case reduction.Prod:
		gradients = backProducts
	case reduction.Max, reduction.Min:
		gradients = backExtremes(one.kind)
	case reduction.LogSumExp:
		gradients = backExponentials
	default:
		return nil
	}
	if one.Where == term.Others && one.kind != reduction.Prod {
		return nil
	}
	place, id, body := c.place(s.Left), s.Target, c.back(s.Value.Reduction.Body, nil)
	if body == nil {
		return nil // no gradient flows, which adjoint finds out, too
	}
	grad := func(f *frame) float64 { _, at, _ := place(f); return f.m.grads[id][at] }
	return func(f *frame) {
		one.around(f, func(f *frame) {
			elements := one.elements(f)
			var out []float64
			if one.Where == term.Others {
				out = one.backOthers(f, elements, grad)
			} else {
				at := make([][]float64, len(elements)+1) // gradients by the number of reduced elements
				one.each(f, elements, func(f *frame, n int) {
					if g := grad(f); g != 0 && one.kind == reduction.Mean {
						at[n] = append(at[n], g/float64(n))
					} else if g != 0 {
						at[n] = append(at[n], g)
					}
				})
				out = gradients(elements, at)
			}
			for i, e := range elements {
				if out[i] != 0 {
					f.vars[one.over] = e.at
					body.add(f, out[i])
				}
			}
		})
	}
}

// total returns the sum of g.
func total(g []float64) float64 {
	s := 0.0
	for _, v := range g {
		s += v
	}
	return s
}

// backSums returns the gradient of each element of prefix sums: the sum of the gradients of all results that
// include it.
func backSums(elements []counted, at [][]float64) []float64 {
	out := make([]float64, len(elements))
	g := 0.0
	for i := len(elements) - 1; i >= 0; i-- {
		g += total(at[i+1])
		out[i] = g
	}
	return out
}

// backProducts returns the gradient of each element of prefix products. It does not divide by the element,
// which may be 0.
func backProducts(elements []counted, at [][]float64) []float64 {
	out := make([]float64, len(elements))
	before := make([]float64, len(elements))
	p := 1.0
	for i, e := range elements {
		before[i] = p
		p *= e.x
	}
	g := 0.0 // the gradient of the product of elements[:i+1], with all later factors applied
	for i := len(elements) - 1; i >= 0; i-- {
		g += total(at[i+1])
		out[i] = g * before[i]
		g *= elements[i].x
	}
	return out
}

// backExponentials returns the gradient of each element of prefix logsumexps: its softmax in each result,
// times the gradient.
func backExponentials(elements []counted, at [][]float64) []float64 {
	out := make([]float64, len(elements))
	type pair struct{ top, log float64 } // a prefix logsumexp: its maximum, and the result relative to it
	results := make([]pair, len(elements))
	a := newAccumulator(reduction.LogSumExp)
	for i, e := range elements {
		a.add(e)
		results[i] = pair{a.v, a.value()}
	}
	share := func(x, of pair) float64 {
		if v := math.Exp(x.top - of.top + (x.log - of.log)); !math.IsNaN(v) { // NaN if all elements are -inf
			return v
		}
		return 0
	}
	g := 0.0
	for i := len(elements) - 1; i >= 0; i-- {
		if i+1 < len(elements) {
			g *= share(results[i], results[i+1])
		}
		g += total(at[i+1])
		out[i] = g * share(pair{elements[i].x, 0}, results[i])
	}
	return out
}

// backExtremes returns the adjoint of prefix max or min. If several elements equal the extreme of a prefix,
// they share the gradient of that result.
func backExtremes(kind reduction.Kind) func([]counted, [][]float64) []float64 {
	return func(elements []counted, at [][]float64) []float64 {
		out := make([]float64, len(elements))
		results, ties := make([]float64, len(elements)), make([]int, len(elements))
		a := newAccumulator(kind)
		for i, e := range elements {
			a.add(e)
			results[i] = a.value()
			if i > 0 && sameNumber(results[i], results[i-1]) {
				ties[i] = ties[i-1]
			}
			if isExtreme(e.x, results[i]) {
				ties[i]++
			}
		}
		g := 0.0
		for i := len(elements) - 1; i >= 0; i-- {
			if i+1 < len(elements) && !sameNumber(results[i], results[i+1]) {
				g = 0
			}
			if ties[i] > 0 {
				g += total(at[i+1]) / float64(ties[i])
			}
			if isExtreme(elements[i].x, results[i]) {
				out[i] = g
			}
		}
		return out
	}
}

// backOthers returns the gradients of leave-one-out products. That of element i is the sum over p of the
// gradient of result p times the product without i and p. Prefixes and suffixes hold this sum as dual
// numbers: a product, and its derivative by the product rule.
func (s *scan) backOthers(f *frame, elements []counted, grad func(*frame) float64) []float64 {
	type pair struct{ product, sum float64 }
	join := func(x, y pair) pair {
		return pair{x.product * y.product, float64(x.product*y.sum) + float64(x.sum*y.product)}
	}
	own, rest := make([]pair, len(elements)), 0.0 // rest is the gradient of results that leave no element out
	for i, e := range elements {
		own[i].product = e.x
	}
	s.beside(f, elements, func(f *frame, _, n, next int) {
		if g := grad(f); next > n {
			own[n].sum = g
		} else {
			rest += g
		}
	})
	behind := make([]pair, len(elements)+1)
	behind[len(elements)] = pair{1, rest}
	for i := len(elements) - 1; i >= 0; i-- {
		behind[i] = join(own[i], behind[i+1])
	}
	out, before := make([]float64, len(elements)), pair{1, 0}
	for i := range elements {
		out[i] = join(before, behind[i+1]).sum
		before = join(before, own[i])
	}
	return out
}

// sameNumber reports whether x and y are equal, or both NaN.
func sameNumber(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
