package check

import (
	"slices"

	"github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/expr"
)

// requirements notes what the conditions of [require] say: equalities, and what divides what; and
// how long lists of attributes are.
func (f *formula) requirements() {
	for _, a := range f.s.Attrs {
		if a.HasLen {
			f.equate(atom("len("+a.Name+")"), constant(a.Len))
		}
	}
	for _, that := range f.s.Requires {
		if n, err := expr.Parse(that); err == nil {
			f.required = append(f.required, n)
			f.require(n)
			f.assume(n, true, f.root, true)
		}
	}
}

func (f *formula) require(n expr.Node) {
	b, ok := n.(*expr.Binary)
	if !ok {
		return
	}
	switch b.Op {
	case "&&":
		f.require(b.X)
		f.require(b.Y)
	case "==":
		fr := &frame{closed: true, spec: true}
		x, err1 := f.eval(b.X, fr, true)
		y, err2 := f.eval(b.Y, fr, true)
		if err1 != nil || err2 != nil {
			return
		}
		if r, s := runOf(x), runOf(y); r != nil && s != nil {
			f.equate(r.size, s.size)
			return
		}
		if rem, ok := b.X.(*expr.Binary); ok && rem.Op == "%" {
			f.divides(rem, y.int, fr)
			return
		}
		f.equate(x.int, y.int)
	}
}

// equate notes that two integers are equal, if one of them is an atom.
func (f *formula) equate(x, y poly) {
	if x == nil || y == nil || x.Equal(y) {
		return
	}
	if x.Single() == "" || slices.Contains(y.Keys(), x.Single()) {
		x, y = y, x
	}
	if a := x.Single(); a != "" && !slices.Contains(y.Keys(), a) && f.equals[a] == nil {
		f.equals[a] = y
	}
}

// divides notes that n divides a where a % n is 0: then a / n * n is a.
func (f *formula) divides(rem *expr.Binary, zero poly, fr *frame) {
	if n, ok := zero.Number(); !ok || n != 0 {
		return
	}
	a, err1 := f.eval(rem.X, fr, true)
	n, err2 := f.eval(rem.Y, fr, true)
	if err1 != nil || err2 != nil || n.int.Single() == "" || a.int == nil {
		return
	}
	name := f.div(a.int, n.int).Single()
	f.quotients[name] = true
	if f.obvious(a.int.Sub(constant(1)), nil) { // a is not 0, so neither is the quotient
		f.atomInfo(name).atLeast(1)
	}
}

// normal writes p in the one form that all integers equal to it have, as far as is known.
func (f *formula) normal(p poly) poly {
	for range 20 {
		q := f.rewrite(p)
		if q == nil || p.Equal(q) {
			return q
		}
		p = q
	}
	return p
}

// rewrite applies one equality to each product of p.
func (f *formula) rewrite(p poly) poly {
	if p == nil {
		return nil
	}
	out := constant(0)
	for _, m := range p.Sorted() {
		out = out.Plus(f.product(m), m.Coefficient)
	}
	return out
}

// product returns a product without its coefficient, or what equals it.
func (f *formula) product(m *affine.Product[atomName]) poly {
	for _, a := range m.Factors {
		rest, _ := m.Without(a.Key())
		if q := f.equals[a.Key()]; q != nil {
			return rest.Poly(limits).Mul(q)
		}
		if f.quotients[a.Key()] {
			if r, ok := rest.Without(f.info[a.Key()].by.Single()); ok {
				return r.Poly(limits).Mul(f.info[a.Key()].over)
			}
		}
		if q := f.glue(a.Key(), rest); q != nil {
			return q
		}
	}
	return m.Alone().Poly(limits)
}

// glue joins the sizes of two parts of one run that follow each other.
func (f *formula) glue(a string, rest *affine.Product[atomName]) poly {
	left := f.sizes[a]
	if left == nil {
		return nil
	}
	for _, b := range rest.Factors {
		right := f.sizes[b.Key()]
		if right == nil || right.whole.text != left.whole.text || !left.hi.Equal(right.lo) {
			continue
		}
		r, _ := rest.Without(b.Key())
		var lo, hi *poly
		if n, ok := left.lo.Number(); !ok || n != 0 {
			lo = &left.lo
		}
		if !right.hi.Equal(left.whole.rank) {
			hi = &right.hi
		}
		if joined := f.slice(left.whole, lo, hi); joined != nil {
			return r.Poly(limits).Mul(joined.size)
		}
	}
	return nil
}

// same reports whether two integers are equal, as far as is known.
func (f *formula) same(x, y poly) bool {
	d := f.normal(x.Sub(y))
	n, ok := d.Number()
	return ok && n == 0
}

// matches reports whether two elements of shapes are the same.
func (f *formula) matches(a, b elem) bool {
	switch {
	case a.rest != b.rest:
		return false
	case a.rest:
		return a.run == nil || b.run == nil || a.run.text == b.run.text
	}
	return a.n == nil || b.n == nil || f.same(a.n, b.n)
}
