package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/affine"
)

// poly is an integer as a polynomial over symbols, variables and opaque terms, such as quotients.
type poly = *affine.Poly[*Term]

// Key returns the text of n with the addresses of variables, so that two variables of one name have different
// keys.
func (n *Term) Key() string {
	if n.Op == Index {
		return fmt.Sprintf("%s@%p", n.Var.Name, n.Var)
	}
	s := n.String()
	n.Walk(func(m *Term) {
		if m.Op == Index {
			s += fmt.Sprintf(" %p", m.Var)
		}
	})
	return s
}

// polyOf expands an integer to a polynomial.
func polyOf(n *Term) poly {
	switch n.Op {
	case Constant:
		return affine.Constant[*Term](int64(n.Int), nil)
	case Negate:
		return affine.Constant[*Term](0, nil).Sub(polyOf(n.Args[0]))
	case Add:
		return polyOf(n.Args[0]).Add(polyOf(n.Args[1]))
	case Subtract:
		return polyOf(n.Args[0]).Sub(polyOf(n.Args[1]))
	case Multiply:
		return product(polyOf(n.Args[0]), polyOf(n.Args[1]))
	case Quotient: // expand each side once, since nested quotients would otherwise take exponential time
		x, y := polyOf(n.Args[0]), polyOf(n.Args[1])
		if q := x.Over(y); q != nil {
			return q
		}
		return affine.Of(Arithmetic(Quotient, termOf(x), termOf(y)), nil)
	case Modulo:
		return affine.Of(Arithmetic(Modulo, Norm(n.Args[0]), Norm(n.Args[1])), nil)
	}
	return affine.Of(n, nil)
}

// maxProducts bounds the number of products in the expansion of a product of sums. A product with a longer
// expansion is an opaque term.
const maxProducts = 1 << 10

func product(p, q poly) poly {
	if p.Len()*q.Len() > maxProducts {
		return affine.Of(Arithmetic(Multiply, termOf(p), termOf(q)), nil)
	}
	return p.Mul(q)
}

// sorted returns the products in an order that does not depend on addresses: those with variables first,
// then by text.
func sorted(p poly) []*affine.Product[*Term] {
	if p.Len() < 2 {
		return p.Products()
	}
	all := slices.Clone(p.Products())
	ranks := make(map[*affine.Product[*Term]]string, len(all))
	for _, m := range all {
		ranks[m] = rank(m)
	}
	slices.SortStableFunc(all, func(a, b *affine.Product[*Term]) int { return strings.Compare(ranks[a], ranks[b]) })
	return all
}

func rank(m *affine.Product[*Term]) string {
	vars, texts := 0, []string{}
	for _, f := range m.Factors {
		if f.Op == Index {
			vars++
		}
		texts = append(texts, f.String())
	}
	negative := 0
	if m.Coefficient < 0 {
		negative = 1
	}
	return fmt.Sprintf("%d %03d %03d %s", negative, 999-vars, 999-len(m.Factors), strings.Join(texts, "*"))
}

// termOf converts a polynomial to a term.
func termOf(p poly) *Term {
	out := Number(0)
	for _, m := range sorted(p) {
		c := int(m.Coefficient)
		t := Number(max(c, -c))
		for _, f := range ordered(m.Factors) {
			t = Product(t, f)
		}
		if c > 0 {
			out = Sum(out, t)
		} else {
			out = Difference(out, t)
		}
	}
	return out
}

// ordered returns factors with variables first, then by text.
func ordered(factors []*Term) []*Term {
	f := slices.Clone(factors)
	slices.SortStableFunc(f, func(x, y *Term) int {
		if (x.Op == Index) != (y.Op == Index) {
			if x.Op == Index {
				return -1
			}
			return 1
		}
		return strings.Compare(x.String(), y.String())
	})
	return f
}

// Norm returns the normal form of an integer: equal polynomials have the same normal form.
func Norm(n *Term) *Term {
	if n.Op == Symbol || n.Op == Index || n.Op == Constant && n.Kind == Integer {
		return n
	}
	return termOf(polyOf(n))
}

// Monomial is the product of a coefficient and factors, which are symbols, variables and opaque terms.
type Monomial struct {
	Coefficient int
	Factors     []*Term
}

// Monomials expands an integer to a sum of monomials.
func Monomials(n *Term) []Monomial {
	var out []Monomial
	for _, m := range sorted(polyOf(n)) {
		out = append(out, Monomial{int(m.Coefficient), ordered(m.Factors)})
	}
	return out
}

// SameInteger reports whether two integers are equal as polynomials.
func SameInteger(x, y *Term) bool { return x == y || polyOf(x).Equal(polyOf(y)) }

// Share reports whether an integer that reads elements of tensors is an addend of both x and y, with the same
// coefficient, so that their difference lacks it.
func Share(x, y *Term) bool {
	if !x.Reads() || !y.Reads() {
		return false
	}
	reading := func(p poly) (n int) {
		for _, m := range p.Products() {
			if slices.ContainsFunc(m.Factors, (*Term).Reads) {
				n++
			}
		}
		return n
	}
	p, q := polyOf(x), polyOf(y)
	return reading(p.Sub(q)) <= reading(p)+reading(q)-2
}

// Linear decomposes n as c*v + r, where c and r do not use v. ok is false if n is not linear in v.
func Linear(n *Term, v *Variable) (c, r *Term, ok bool) {
	p := polyOf(n)
	for _, m := range p.Products() {
		if slices.ContainsFunc(m.Factors, func(f *Term) bool { return (f.Op != Index || f.Var != v) && f.Uses(v) }) {
			return nil, nil, false
		}
	}
	cp, rp, ok := p.Linear(v.Term().Key())
	if !ok {
		return nil, nil, false
	}
	return termOf(cp), termOf(rp), true
}

// NonNegative reports whether an integer is >= 0 because it is a polynomial with coefficients >= 0 in
// factors >= 0: extents, and indices with ranges that start at 0 or above.
func NonNegative(n *Term) bool {
	for _, m := range polyOf(n).Products() {
		if m.Coefficient < 0 {
			return false
		}
		for _, f := range m.Factors {
			switch {
			case f.Op == Symbol:
			case f.Op == Index && NonNegative(f.Var.Lo):
			case (f.Op == Quotient || f.Op == Modulo) && NonNegative(f.Args[0]) && NonNegative(f.Args[1]):
			case f.Op == Apply && f.Func == Max && (NonNegative(f.Args[0]) || NonNegative(f.Args[1])):
			case f.Op == Apply && f.Func == Min && NonNegative(f.Args[0]) && NonNegative(f.Args[1]):
			default:
				return false
			}
		}
	}
	return true
}
