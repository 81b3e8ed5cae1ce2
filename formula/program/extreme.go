package program

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Ends says which extremes of nothing an integer may be. They are kept as the bounds of 64 bits: the least
// integer is the greatest of nothing.
type Ends struct{ Least, Most bool }

// Any reports whether an integer may be an extreme of nothing.
func (e Ends) Any() bool { return e.Least || e.Most }

// Or returns which extremes an integer may be that is one of two.
func (e Ends) Or(f Ends) Ends { return Ends{e.Least || f.Least, e.Most || f.Most} }

// EndsOf returns which extremes of nothing an integer may be, as far as choices and extremes hand them on. It is
// known which ones tensors hold. The extremes of no integers without sign are none of these, and unsigned tells
// which integers have none; it is nil if all have a sign.
func EndsOf(n *term.Term, held map[int]Ends, unsigned func(*term.Term) bool) Ends {
	of := func(n *term.Term) Ends { return EndsOf(n, held, unsigned) }
	switch {
	case n.Kind != term.Integer:
	case n.Op == term.Constant:
		return Ends{n.Int == math.MinInt, n.Int == math.MaxInt}
	case n.Op == term.Reduce && n.Reduction.Kind.Is(reduction.Extreme):
		if unsigned != nil && unsigned(n.Reduction.Body) {
			break
		}
		return Ends{n.Reduction.Kind == reduction.Max, n.Reduction.Kind == reduction.Min}
	case n.Op == term.Element:
		var out Ends
		for i := range n.Read.Count {
			out = out.Or(held[n.Read.Tensor+i])
		}
		if n.Read.Else != nil {
			out = out.Or(of(n.Read.Else))
		}
		return out
	case n.Op == term.Choose:
		return of(n.Args[1]).Or(of(n.Args[2]))
	case n.Op == term.Apply && (n.Func == term.Max || n.Func == term.Min):
		return of(n.Args[0]).Or(of(n.Args[1]))
	}
	return Ends{}
}
