package rewrite

import (
	"math"

	"github.com/opgen/opgen/formula/term"
)

// densities replaces exp(-x*x/2)/sqrt(2*pi), the pdf of the standard normal distribution, by one function. In
// the derivative of x * normal_cdf(x) it is multiplied by x, and 0 times infinity would be NaN.
func densities(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	m := n.Map(densities)
	if m.Op != term.Divide {
		return m
	}
	if v, ok := m.Args[1].Settled(); !ok || v != math.Sqrt(2*math.Pi) {
		return m
	}
	if x := exponent(m.Args[0]); x != nil {
		return term.Applied("density", x)
	}
	if p := m.Args[0]; p.Op == term.Multiply {
		if x := exponent(p.Args[1]); x != nil && term.Identical(x, p.Args[0]) {
			return &term.Term{Op: term.Multiply, Kind: term.Real, Args: []*term.Term{x, term.Applied("density", x)}}
		}
	}
	return m
}

// exponent returns x if n is exp(-(x * x / 2)), and otherwise nil.
func exponent(n *term.Term) *term.Term {
	if n.Op != term.Apply || n.Func != term.Exp || n.Args[0].Op != term.Negate || n.Args[0].Args[0].Op != term.Divide {
		return nil
	}
	square, half := n.Args[0].Args[0].Args[0], n.Args[0].Args[0].Args[1]
	if v, ok := half.Settled(); !ok || v != 2 || square.Op != term.Multiply || !term.Identical(square.Args[0], square.Args[1]) {
		return nil
	}
	return square.Args[0]
}
