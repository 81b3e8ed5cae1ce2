package formula

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// backReduce returns the adjoint of a reduction.
func (c *code) backReduce(n *term.Term) back {
	r := n.Reduction
	if r.Detached {
		return nil
	}
	each, body := c.loop(r.Vars, r.Guard), c.back(r.Body, nil)
	if body == nil {
		return nil
	}
	switch r.Kind {
	case reduction.Sum:
		return func(f *frame, g float64) { each(f, func(f *frame) { body(f, g) }) }
	case reduction.Mean:
		return func(f *frame, g float64) {
			n := 0
			each(f, func(*frame) { n++ })
			each(f, func(f *frame) { body(f, g/float64(n)) })
		}
	case reduction.Prod:
		return c.backProduct(r, each, body)
	case reduction.Variance:
		x := c.real(r.Body)
		return func(f *frame, g float64) {
			mean, n := moments(f, each, x)
			each(f, func(f *frame) { body(f, 2*g*(x(f)-mean)/n) })
		}
	case reduction.LogSumExp:
		return c.backShare(n, each, body)
	}
	// The elements that attain the extreme share its gradient.
	x, y := c.real(r.Body), c.real(n)
	return func(f *frame, g float64) {
		extreme, n := y(f), 0
		each(f, func(f *frame) {
			if isExtreme(x(f), extreme) {
				n++
			}
		})
		each(f, func(f *frame) {
			if isExtreme(x(f), extreme) {
				body(f, g/float64(n))
			}
		})
	}
}

// backShare returns the adjoint of a logsumexp: the gradient of each element is its softmax, exp((x - max) -
// result). If a statement of the program already computes this softmax, it is loaded.
func (c *code) backShare(n *term.Term, each func(*frame, func(*frame)), body back) back {
	total := n
	if c.of != nil && c.of.Value == n {
		total = &term.Term{Op: term.Element, Kind: term.Real, Read: c.of.Left}
	}
	top := n.Reduction.At[0]
	difference := term.Arithmetic(term.Subtract, term.Arithmetic(term.Subtract, n.Reduction.Body, top), total)
	if known := c.p.Recognized(term.Applied("exp", difference)); known.Op == term.Element {
		share := c.real(known)
		return func(f *frame, g float64) { each(f, func(f *frame) { body(f, g*share(f)) }) }
	}
	x, most, sum := c.real(n.Reduction.Body), c.real(top), c.real(total)
	return func(f *frame, g float64) {
		max, log := most(f), sum(f) // evaluate before the loop, which overwrites the reduced indices
		each(f, func(f *frame) {
			if v := math.Exp(x(f) - max - log); !math.IsNaN(v) { // NaN if all elements are -inf
				body(f, g*v)
			}
		})
	}
}

// backProduct returns the adjoint of a product. The gradient of a factor is the product of the others, from
// prefix and suffix products, so that it is exact if factors are 0.
func (c *code) backProduct(r *term.Reduction, each func(*frame, func(*frame)), body back) back {
	x := c.real(r.Body)
	return func(f *frame, g float64) {
		var values []float64
		each(f, func(f *frame) { values = append(values, x(f)) })
		after := make([]float64, len(values)+1)
		after[len(values)] = 1
		for i := len(values) - 1; i >= 0; i-- {
			after[i] = after[i+1] * values[i]
		}
		before, i := 1.0, 0
		each(f, func(f *frame) {
			body(f, g*before*after[i+1])
			before *= values[i]
			i++
		})
	}
}
