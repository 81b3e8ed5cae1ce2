package formula

import (
	"math"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// backScan returns code that hands the gradients of a scan on, in one pass; nil if the statement is another
// one.
func (c *code) backScan(s *program.Statement) func(*frame) {
	kind := reduction.Kind(0)
	if s.Value.Op == term.Reduce {
		kind = s.Value.Reduction.Kind
	}
	one := c.scanOf(s, kind != reduction.Sum && kind != reduction.Mean) // gradients of sums do not depend on what is added
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
		return nil // nothing flows, which adjoint finds out, too
	}
	grad := func(f *frame) float64 { _, at, _ := place(f); return f.m.grads[id][at] }
	return func(f *frame) {
		one.around(f, func(f *frame) {
			elements := one.elements(f)
			var out []float64
			if one.Where == term.Others {
				out = one.backOthers(f, elements, grad)
			} else {
				at := make([][]float64, len(elements)+1) // the gradients of results, by how many elements count
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

// total adds up gradients.
func total(g []float64) float64 {
	s := 0.0
	for _, v := range g {
		s += v
	}
	return s
}

// backSums gives each element the gradients of the sums in which it counts.
func backSums(elements []counted, at [][]float64) []float64 {
	out := make([]float64, len(elements))
	g := 0.0
	for i := len(elements) - 1; i >= 0; i-- {
		g += total(at[i+1])
		out[i] = g
	}
	return out
}

// backProducts gives each element the gradients of products, times the other factors, which may be 0.
func backProducts(elements []counted, at [][]float64) []float64 {
	out := make([]float64, len(elements))
	before := make([]float64, len(elements))
	p := 1.0
	for i, e := range elements {
		before[i] = p
		p *= e.x
	}
	g := 0.0 // that of the product of the elements up to i, whichever way it goes on
	for i := len(elements) - 1; i >= 0; i-- {
		g += total(at[i+1])
		out[i] = g * before[i]
		g *= elements[i].x
	}
	return out
}

// backExponentials gives each element its share of the gradients of sums of exponentials.
func backExponentials(elements []counted, at [][]float64) []float64 {
	out := make([]float64, len(elements))
	type pair struct{ top, log float64 } // the maximum, and the logarithm of the sum of what elements have beyond it
	results := make([]pair, len(elements))
	a := newAccumulator(reduction.LogSumExp)
	for i, e := range elements {
		a.add(e)
		results[i] = pair{a.v, a.value()}
	}
	share := func(x, of pair) float64 {
		if v := math.Exp(x.top - of.top + (x.log - of.log)); !math.IsNaN(v) { // of -inf in a sum of nothing else
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

// backExtremes returns a function that lets equal extremes share the gradients of the results that they are.
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

// backOthers gives each element the gradients of the products of others. A product without the elements i and
// p is needed for each p: pairs of a product and of the sum of what has the gradient of p in place of p, by
// the product rule.
func (s *scan) backOthers(f *frame, elements []counted, grad func(*frame) float64) []float64 {
	type pair struct{ product, sum float64 }
	join := func(x, y pair) pair { return pair{x.product * y.product, x.product*y.sum + x.sum*y.product} }
	own, rest := make([]pair, len(elements)), 0.0 // rest is the gradient of products that leave nothing out
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

// sameNumber reports whether numbers are equal, or both NaN.
func sameNumber(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
