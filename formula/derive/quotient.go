package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// quotients rewrites sum(g*x)/(y*y) as sum(g*(x/y))/y. The gradient of a divisor that many elements share
// has the first form. There x and y may overflow or underflow although their quotient does neither.
func quotients(n *term.Term) *term.Term {
	n = n.Derived(quotients)
	if n == nil || n.Op != term.Divide {
		return n
	}
	f := factorsOf(n)
	y := f.squared()
	at := slices.IndexFunc(f.numerators, func(x *term.Term) bool {
		return x.Op == term.Reduce && x.Kind == term.Real && x.Reduction.Kind == reduction.Sum
	})
	if y < 0 || at < 0 {
		return n
	}
	r := *f.numerators[at].Reduction
	body := factorsOf(r.Body)
	last := len(body.numerators) - 1
	if last < 0 {
		return n
	}
	body.numerators[last] = term.Ratio(body.numerators[last], f.denominators[y])
	r.Body = body.term()
	f.numerators[at] = &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &r}
	f.denominators = slices.Delete(f.denominators, y, y+1)
	return f.term()
}

// squared returns the position of the first of two equal denominators, or -1.
func (f *factors) squared() int {
	for i, x := range f.denominators {
		if x.Op != term.Constant && slices.ContainsFunc(f.denominators[i+1:], func(y *term.Term) bool { return term.Identical(x, y) }) {
			return i
		}
	}
	return -1
}
