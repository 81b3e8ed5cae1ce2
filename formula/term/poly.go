package term

import (
	"fmt"
	"slices"
	"strings"
)

// poly is an integer as a polynomial: a sum of products of symbols, variables and parts that are not taken
// apart. Two integers whose polynomials are equal are equal.
type poly struct {
	monomials []*monomial    // in no order
	index     map[string]int // of monomials by key, if there are more than few
}

// few is how many monomials are looked through, which takes less time and memory than a map of them.
const few = 8

// monomial is a coefficient and the factors of a product, sorted by key.
type monomial struct {
	key         string
	coefficient int
	factors     []*Term
}

// find returns the number of the monomial with a key, or -1.
func (p *poly) find(key string) int {
	if p.index != nil {
		if i, ok := p.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(p.monomials, func(m *monomial) bool { return m.key == key })
}

func keyOf(factors []*Term) string {
	if len(factors) == 1 {
		return factors[0].key()
	}
	keys := make([]string, len(factors))
	for i, f := range factors {
		keys[i] = f.key()
	}
	return strings.Join(keys, "*")
}

// key tells apart what String may show alike: variables of the same name.
func (n *Term) key() string {
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

// polyOf returns an integer as a polynomial.
func polyOf(n *Term) *poly {
	p := &poly{}
	switch n.Op {
	case Constant:
		p.add(n.Int, nil)
	case Negate:
		p.addAll(polyOf(n.Args[0]), -1)
	case Add:
		p.addAll(polyOf(n.Args[0]), 1)
		p.addAll(polyOf(n.Args[1]), 1)
	case Subtract:
		p.addAll(polyOf(n.Args[0]), 1)
		p.addAll(polyOf(n.Args[1]), -1)
	case Multiply:
		return polyOf(n.Args[0]).times(polyOf(n.Args[1]))
	case Quotient: // each side is worked out once, so that quotients of quotients take no exponential time
		x, y := polyOf(n.Args[0]), polyOf(n.Args[1])
		if q := x.over(y); q != nil {
			return q
		}
		p.add(1, []*Term{Arithmetic(Quotient, x.term(), y.term())})
	case Modulo:
		p.add(1, []*Term{Arithmetic(Modulo, Norm(n.Args[0]), Norm(n.Args[1]))})
	default:
		p.add(1, []*Term{n})
	}
	return p
}

func (p *poly) add(coefficient int, factors []*Term) {
	if coefficient == 0 {
		return
	}
	k := keyOf(factors)
	i := p.find(k)
	if i < 0 {
		p.monomials = append(p.monomials, &monomial{k, coefficient, factors})
		switch n := len(p.monomials); {
		case p.index != nil:
			p.index[k] = n - 1
		case n > few:
			p.index = map[string]int{}
			for i, m := range p.monomials {
				p.index[m.key] = i
			}
		}
		return
	}
	if p.monomials[i].coefficient += coefficient; p.monomials[i].coefficient != 0 {
		return
	}
	last := len(p.monomials) - 1
	p.monomials[i] = p.monomials[last]
	p.monomials = p.monomials[:last]
	if p.index != nil {
		delete(p.index, k)
		if i < last {
			p.index[p.monomials[i].key] = i
		}
	}
}

func (p *poly) addAll(q *poly, scale int) {
	for _, m := range q.sorted() {
		p.add(scale*m.coefficient, m.factors)
	}
}

// maxMonomials bounds the products of sums that are multiplied out. A longer one is a part that is not taken
// apart.
const maxMonomials = 1 << 10

func (p *poly) times(q *poly) *poly {
	out := &poly{}
	if len(p.monomials)*len(q.monomials) > maxMonomials {
		out.add(1, []*Term{Arithmetic(Multiply, p.term(), q.term())})
		return out
	}
	for _, a := range p.sorted() {
		for _, b := range q.sorted() {
			f := slices.Concat(a.factors, b.factors)
			slices.SortStableFunc(f, func(x, y *Term) int { return strings.Compare(x.key(), y.key()) })
			out.add(a.coefficient*b.coefficient, f)
		}
	}
	return out
}

// over returns p / q if every monomial of p is a multiple of q, which must have one; or else nil.
func (p *poly) over(q *poly) *poly {
	d := q.sorted()
	if len(d) != 1 {
		return nil
	}
	out := &poly{}
	for _, m := range p.sorted() {
		rest, ok := without(m.factors, d[0].factors)
		if !ok || m.coefficient%d[0].coefficient != 0 {
			return nil
		}
		out.add(m.coefficient/d[0].coefficient, rest)
	}
	return out
}

// without returns factors less others, if they contain all of them.
func without(factors, others []*Term) ([]*Term, bool) {
	rest := slices.Clone(factors)
	for _, o := range others {
		i := slices.IndexFunc(rest, func(f *Term) bool { return f.key() == o.key() })
		if i < 0 {
			return nil, false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return rest, true
}

// sorted lists monomials in an order that does not depend on addresses: those with variables first, then by
// text.
func (p *poly) sorted() []*monomial {
	if len(p.monomials) < 2 {
		return p.monomials
	}
	type ranked struct {
		rank string
		*monomial
	}
	all := make([]ranked, len(p.monomials))
	for i, m := range p.monomials {
		all[i] = ranked{m.rank(), m}
	}
	slices.SortFunc(all, func(a, b ranked) int { return strings.Compare(a.rank, b.rank) })
	out := make([]*monomial, len(all))
	for i, m := range all {
		out[i] = m.monomial
	}
	return out
}

func (m *monomial) rank() string {
	vars, texts := 0, []string{}
	for _, f := range m.factors {
		if f.Op == Index {
			vars++
		}
		texts = append(texts, f.String())
	}
	negative := 0
	if m.coefficient < 0 {
		negative = 1
	}
	return fmt.Sprintf("%d %03d %03d %s", negative, 999-vars, 999-len(m.factors), strings.Join(texts, "*"))
}

// equal reports whether p and q are the same polynomial.
func (p *poly) equal(q *poly) bool {
	if len(p.monomials) != len(q.monomials) {
		return false
	}
	for _, m := range p.monomials {
		if i := q.find(m.key); i < 0 || q.monomials[i].coefficient != m.coefficient {
			return false
		}
	}
	return true
}

// term returns the polynomial as a term.
func (p *poly) term() *Term {
	out := Number(0)
	for _, m := range p.sorted() {
		c := m.coefficient
		t := Number(max(c, -c))
		for _, f := range ordered(m.factors) {
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

// ordered returns factors with variables first.
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

// Norm returns an integer in a form that equal polynomials share.
func Norm(n *Term) *Term {
	if n.Op == Symbol || n.Op == Index || n.Op == Constant && n.Kind == Integer {
		return n
	}
	return polyOf(n).term()
}

// Monomial is a product: a number times factors, which are symbols, variables and parts that are not taken
// apart.
type Monomial struct {
	Coefficient int
	Factors     []*Term
}

// Monomials returns an integer as a sum of products.
func Monomials(n *Term) []Monomial {
	var out []Monomial
	for _, m := range polyOf(n).sorted() {
		out = append(out, Monomial{m.coefficient, ordered(m.factors)})
	}
	return out
}

// SameInteger reports whether two integers are equal as polynomials.
func SameInteger(x, y *Term) bool { return x == y || polyOf(x).equal(polyOf(y)) }

// Linear returns c and r such that n is c*v + r, and v is in neither; ok is false if there are none.
func Linear(n *Term, v *Variable) (c, r *Term, ok bool) {
	cp, rp := &poly{}, &poly{}
	for _, m := range polyOf(n).sorted() {
		at, times := -1, 0
		for i, f := range m.factors {
			if f.Op == Index && f.Var == v {
				at = i
				times++
			} else if f.Uses(v) {
				return nil, nil, false
			}
		}
		switch times {
		case 0:
			rp.add(m.coefficient, m.factors)
		case 1:
			cp.add(m.coefficient, slices.Delete(slices.Clone(m.factors), at, at+1))
		default:
			return nil, nil, false
		}
	}
	return cp.term(), rp.term(), true
}

// NonNegative reports whether an integer is 0 or more because all that it consists of is: extents, indices
// that begin at 0 or above, and sums and products of them.
func NonNegative(n *Term) bool {
	for _, m := range polyOf(n).sorted() {
		if m.coefficient < 0 {
			return false
		}
		for _, f := range m.factors {
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
