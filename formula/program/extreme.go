package program

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Ends says whether an integer may be the identity of a max or min reduction: the result for an empty range.
// The identity of max is the least int64, and that of min the greatest.
type Ends struct{ Least, Most bool }

// Any reports whether the integer may be an identity.
func (e Ends) Any() bool { return e.Least || e.Most }

// Or returns the union of e and f, for an integer that is one of two.
func (e Ends) Or(f Ends) Ends { return Ends{e.Least || f.Least, e.Most || f.Most} }

// EndsOf returns the Ends of n, by data flow through max, min, conditionals and defaults. held holds the Ends
// of tensors. unsigned reports whether an integer is unsigned: a reduction of unsigned integers has other
// identities. A nil unsigned, as in loops, means that all integers are signed, and that constants may be
// folded reductions.
func EndsOf(n *term.Term, held map[int]Ends, unsigned func(*term.Term) bool) Ends {
	of := func(n *term.Term) Ends { return EndsOf(n, held, unsigned) }
	switch {
	case n.Kind != term.Integer:
	case n.Op == term.Constant && unsigned == nil:
		return Ends{n.Int == math.MinInt, n.Int == math.MaxInt}
	case n.Op == term.Reduce && n.Reduction.Kind.Is(reduction.Extreme):
		if unsigned != nil && unsigned(n.Reduction.Body) {
			break
		}
		return Ends{n.Reduction.Kind == reduction.Max, n.Reduction.Kind == reduction.Min}.Or(of(n.Reduction.Body))
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
