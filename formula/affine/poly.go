// Package affine is the algebra of indices: polynomials over dimensions and indices, their decomposition as
// factor * atom + rest, and interval arithmetic. The check of formulas and the terms of programs share it.
package affine

import (
	"slices"
	"strconv"
	"strings"
)

// Atom is a factor of a product that the algebra does not take apart: a dimension, an index, or an operation
// such as a quotient.
type Atom interface {
	// Key identifies the atom: two atoms have the same key only if they are equal.
	Key() string
	// String returns the atom as formulas write it.
	String() string
}

// Poly is an immutable polynomial: a sum of products of atoms. Two integers are equal if their polynomials
// are. A nil polynomial is an unknown integer, and operations on it return nil.
type Poly[A Atom] struct {
	products []*Product[A]  // in no order; keys are unique
	index    map[string]int // key -> product, if there are many products
	limits   *Limits
	wrapped  bool // whether a coefficient overflowed 64 bits
}

// Limits bound the size of polynomials. The result of an operation is nil if it exceeds them, or if a
// coefficient overflows 64 bits. Without limits, coefficients wrap around.
type Limits struct {
	Products int // maximum number in a sum
	Key      int // maximum size of a product's key, in bytes
}

// few is the number of products up to which a polynomial is searched linearly, which takes less time and
// memory than a map.
const few = 8

// Product is a coefficient times atoms, which are sorted by key.
type Product[A Atom] struct {
	Coefficient int64
	Factors     []A
	keys        []string
	key         string
}

// separator separates the keys of factors in the key of a product.
const separator = "\x1f"

func (m *Product[A]) times(coefficient int64) *Product[A] {
	return &Product[A]{coefficient, m.Factors, m.keys, m.key}
}

// Constant returns the polynomial of a number.
func Constant[A Atom](n int64, limits *Limits) *Poly[A] {
	p := &Poly[A]{limits: limits}
	p.add(&Product[A]{Coefficient: n})
	return p
}

// Of returns the polynomial of one atom.
func Of[A Atom](a A, limits *Limits) *Poly[A] {
	p, k := &Poly[A]{limits: limits}, a.Key()
	p.add(&Product[A]{1, []A{a}, []string{k}, k})
	return p.bounded()
}

func (p *Poly[A]) find(key string) int {
	if p.index != nil {
		if i, ok := p.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(p.products, func(m *Product[A]) bool { return m.key == key })
}

// add adds product m to p in place, while p is under construction.
func (p *Poly[A]) add(m *Product[A]) {
	if m.Coefficient == 0 {
		return
	}
	i := p.find(m.key)
	if i < 0 {
		p.products = append(p.products, m)
		switch n := len(p.products); {
		case p.index != nil:
			p.index[m.key] = n - 1
		case n > few:
			p.index = map[string]int{}
			for i, m := range p.products {
				p.index[m.key] = i
			}
		}
		return
	}
	c, wraps := sum(p.products[i].Coefficient, m.Coefficient)
	p.wrapped = p.wrapped || wraps
	if c != 0 {
		p.products[i] = p.products[i].times(c)
		return
	}
	last := len(p.products) - 1
	p.products[i] = p.products[last]
	p.products = p.products[:last]
	if p.index != nil {
		delete(p.index, m.key)
		if i < last {
			p.index[p.products[i].key] = i
		}
	}
}

// bounded returns p once it is complete, or nil if it exceeds its limits.
func (p *Poly[A]) bounded() *Poly[A] {
	if p.limits == nil {
		return p
	}
	if p.wrapped || len(p.products) > p.limits.Products {
		return nil
	}
	for _, m := range p.products {
		if len(m.key) > p.limits.Key {
			return nil
		}
	}
	return p
}

// Plus returns p + factor * q.
func (p *Poly[A]) Plus(q *Poly[A], factor int64) *Poly[A] {
	if p == nil || q == nil {
		return nil
	}
	out := &Poly[A]{limits: p.limits, products: make([]*Product[A], 0, len(p.products)+len(q.products))}
	for _, m := range p.products {
		out.add(m)
	}
	for _, m := range q.products {
		out.add(out.scaled(m, factor))
	}
	return out.bounded()
}

// Add returns p + q.
func (p *Poly[A]) Add(q *Poly[A]) *Poly[A] { return p.Plus(q, 1) }

// Sub returns p - q.
func (p *Poly[A]) Sub(q *Poly[A]) *Poly[A] { return p.Plus(q, -1) }

// Mul returns p * q.
func (p *Poly[A]) Mul(q *Poly[A]) *Poly[A] {
	if p == nil || q == nil {
		return nil
	}
	out := &Poly[A]{limits: p.limits}
	for _, m := range p.products {
		for _, n := range q.products {
			out.add(out.scaled(m.mul(n), n.Coefficient))
		}
	}
	return out.bounded()
}

// scaled returns product m with its coefficient multiplied by factor. An overflow is noted in p, which is
// under construction.
func (p *Poly[A]) scaled(m *Product[A], factor int64) *Product[A] {
	c, wraps := product(m.Coefficient, factor)
	p.wrapped = p.wrapped || wraps
	return m.times(c)
}

// mul returns a product with the coefficient of m, and with the factors of both m and n.
func (m *Product[A]) mul(n *Product[A]) *Product[A] {
	switch {
	case len(m.Factors) == 0:
		return n.times(m.Coefficient)
	case len(n.Factors) == 0:
		return m
	}
	out := &Product[A]{Coefficient: m.Coefficient}
	for i, j := 0, 0; i < len(m.keys) || j < len(n.keys); {
		if j == len(n.keys) || i < len(m.keys) && m.keys[i] <= n.keys[j] {
			out.Factors, out.keys = append(out.Factors, m.Factors[i]), append(out.keys, m.keys[i])
			i++
			continue
		}
		out.Factors, out.keys = append(out.Factors, n.Factors[j]), append(out.keys, n.keys[j])
		j++
	}
	out.key = strings.Join(out.keys, separator)
	return out
}

// Without returns the product without the factor of this key, and with the coefficient 1. ok is false if it
// has no such factor.
func (m *Product[A]) Without(key string) (rest *Product[A], ok bool) {
	i := slices.Index(m.keys, key)
	if i < 0 {
		return m, false
	}
	return m.cut(i, 1), true
}

// cut returns the product without factor number i, and with another coefficient.
func (m *Product[A]) cut(i int, coefficient int64) *Product[A] {
	keys := slices.Delete(slices.Clone(m.keys), i, i+1)
	return &Product[A]{coefficient, slices.Delete(slices.Clone(m.Factors), i, i+1), keys, strings.Join(keys, separator)}
}

// Alone returns the product with the coefficient 1.
func (m *Product[A]) Alone() *Product[A] { return m.times(1) }

// Poly returns the product as a polynomial.
func (m *Product[A]) Poly(limits *Limits) *Poly[A] {
	p := &Poly[A]{limits: limits}
	p.add(m)
	return p.bounded()
}

// Over returns p / q if q is a single product that divides each product of p. Otherwise it returns nil.
func (p *Poly[A]) Over(q *Poly[A]) *Poly[A] {
	if p == nil || q == nil || len(q.products) != 1 {
		return nil
	}
	d := q.products[0]
	out := &Poly[A]{limits: p.limits}
	for _, m := range p.products {
		if m.Coefficient%d.Coefficient != 0 {
			return nil
		}
		rest := m.times(m.Coefficient / d.Coefficient)
		for _, k := range d.keys {
			i := slices.Index(rest.keys, k)
			if i < 0 {
				return nil
			}
			rest = rest.cut(i, rest.Coefficient)
		}
		out.add(rest)
	}
	return out
}

// Equal reports whether p and q are the same polynomial. It returns false if one is nil.
func (p *Poly[A]) Equal(q *Poly[A]) bool {
	if p == nil || q == nil || len(p.products) != len(q.products) {
		return false
	}
	for _, m := range p.products {
		if i := q.find(m.key); i < 0 || q.products[i].Coefficient != m.Coefficient {
			return false
		}
	}
	return true
}

// Number returns the value of p if p is a constant.
func (p *Poly[A]) Number() (n int64, ok bool) {
	switch {
	case p == nil || len(p.products) > 1:
		return 0, false
	case len(p.products) == 0:
		return 0, true
	case len(p.products[0].Factors) > 0:
		return 0, false
	}
	return p.products[0].Coefficient, true
}

// Single returns the key of an atom if p is that atom and nothing else, or "".
func (p *Poly[A]) Single() string {
	if p == nil || len(p.products) != 1 || p.products[0].Coefficient != 1 || len(p.products[0].keys) != 1 {
		return ""
	}
	return p.products[0].key
}

// Linear decomposes p as factor * atom + rest, where neither factor nor rest contains the atom of this key.
// ok is false if p is not linear in the atom.
func (p *Poly[A]) Linear(key string) (factor, rest *Poly[A], ok bool) {
	if p == nil {
		return nil, nil, false
	}
	factor, rest = &Poly[A]{limits: p.limits}, &Poly[A]{limits: p.limits}
	for _, m := range p.products {
		i := slices.Index(m.keys, key)
		switch {
		case i < 0:
			rest.add(m)
		case i+1 < len(m.keys) && m.keys[i+1] == key:
			return nil, nil, false
		default:
			factor.add(m.cut(i, m.Coefficient))
		}
	}
	return factor, rest, true
}

// Keys returns the sorted keys of the atoms in p.
func (p *Poly[A]) Keys() []string {
	if p == nil {
		return nil
	}
	var out []string
	for _, m := range p.products {
		out = append(out, m.keys...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Products returns the products of p, in an order that depends on how p was computed. The caller must not
// change the list.
func (p *Poly[A]) Products() []*Product[A] {
	if p == nil {
		return nil
	}
	return p.products
}

// Sorted returns the products of p, sorted by the keys of their factors.
func (p *Poly[A]) Sorted() []*Product[A] {
	out := slices.Clone(p.Products())
	slices.SortFunc(out, func(a, b *Product[A]) int { return strings.Compare(a.key, b.key) })
	return out
}

// Len returns the number of products of p.
func (p *Poly[A]) Len() int { return len(p.products) }

// NoneNegative reports whether p is known and no coefficient is negative: then p is at least 0 if all atoms
// are.
func (p *Poly[A]) NoneNegative() bool {
	return p != nil && !slices.ContainsFunc(p.products, func(m *Product[A]) bool { return m.Coefficient < 0 })
}

// String prints p in the syntax of formulas, with long products first.
func (p *Poly[A]) String() string {
	if p == nil {
		return "?"
	}
	if len(p.products) == 0 {
		return "0"
	}
	all := p.Sorted()
	slices.SortStableFunc(all, func(a, b *Product[A]) int { return len(b.Factors) - len(a.Factors) })
	var b strings.Builder
	for i, m := range all {
		c := m.Coefficient
		switch {
		case i > 0 && c < 0:
			b.WriteString(" - ")
			c = -c
		case i > 0:
			b.WriteString(" + ")
		case c < 0:
			b.WriteString("-")
			c = -c
		}
		var factors []string
		if c != 1 || len(m.Factors) == 0 {
			factors = append(factors, strconv.FormatInt(c, 10))
		}
		for _, a := range m.Factors {
			factors = append(factors, a.String())
		}
		b.WriteString(strings.Join(factors, " * "))
	}
	return b.String()
}
