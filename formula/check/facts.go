package check

import (
	"slices"

	"github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/expr"
)

// requirements collects facts from the conditions of [require]: equalities between integers, and
// divisibility, such as C % groups == 0. It also collects the fixed lengths of attributes.
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
			f.assume(n, true, f.root, f.root, true)
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

// equate records x == y as a rewrite rule from an atom to the other side. It does nothing if neither side is
// a single atom.
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

// divides records that a % n == 0, where rem is a % n: the product of a / n and n may then be rewritten to a.
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

// normal rewrites p by the known equalities to a fixed point, so that integers that are known to be equal
// have the same form. It stops after 20 passes.
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

// rewrite rewrites each product of p once by a known equality.
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

// product rewrites a product, without its coefficient, by one of three rules: an atom with a known value, (a
// / n) * n == a for an exact quotient, or adjacent parts of one run, whose sizes multiply to that of the
// joined part.
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

// glue rewrites the product of the sizes of two adjacent parts of a run: prod(X[:a]) * prod(X[a:b]) is
// prod(X[:b]). a is the size of the left part, and rest has the other factors. It returns nil if no part
// follows.
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

// same reports whether two integers are provably equal.
func (f *formula) same(x, y poly) bool {
	d := f.normal(x.Sub(y))
	n, ok := d.Number()
	return ok && n == 0
}

// matches reports whether two elements of shapes are equal. Unknown elements match all of the same form.
func (f *formula) matches(a, b elem) bool {
	switch {
	case a.rest != b.rest:
		return false
	case a.rest:
		return a.run == nil || b.run == nil || a.run.text == b.run.text
	}
	return a.n == nil || b.n == nil || f.same(a.n, b.n)
}
