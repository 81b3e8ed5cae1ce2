package rewrite

import (
	"math"
	"slices"

	algebra "github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Form is an affine form of an integer: a constant, plus multiples of indices, plus multiples of opaque
// integers such as quotients and elements of tensors.
type Form struct {
	Base int
	Vars []Multiple
	Rest []Addend
}

// Multiple is an index times a number.
type Multiple struct {
	Of     *term.Variable
	Factor int
}

// Addend is an opaque integer times a number.
type Addend struct {
	Of     *term.Term
	Factor int
}

// Linear returns the affine form of an integer.
func Linear(n *term.Term) Form {
	if v, ok := n.Known(); ok {
		return Form{Base: v}
	}
	switch n.Op {
	case term.Index:
		return Form{Vars: []Multiple{{n.Var, 1}}}
	case term.Add:
		return Linear(n.Args[0]).Plus(Linear(n.Args[1]), 1)
	case term.Subtract:
		return Linear(n.Args[0]).Plus(Linear(n.Args[1]), -1)
	case term.Negate:
		return Form{}.Plus(Linear(n.Args[0]), -1)
	case term.Multiply:
		x, y := Linear(n.Args[0]), Linear(n.Args[1])
		if y.Constant() {
			return Form{}.Plus(x, y.Base)
		}
		if x.Constant() {
			return Form{}.Plus(y, x.Base)
		}
	}
	return Form{Rest: []Addend{{n, 1}}}
}

// differenceOf returns the form of x - y, whose sign says how x and y compare. The difference is opaque where
// its sign may say something else: if a constant is so large that a difference may overflow, as the maximum
// of no integers is, and if an element of a tensor stands on both sides beside other integers, since j - k is
// above j where it wraps around.
func differenceOf(x, y *term.Term) Form {
	a, b := Linear(x), Linear(y)
	if max(a.Base, b.Base) >= Farthest || min(a.Base, b.Base) <= -Farthest || !a.Same(b) && cancels(a, b) {
		return Form{Rest: []Addend{{&term.Term{Op: term.Subtract, Kind: term.Integer, Args: []*term.Term{x, y}}, 1}}}
	}
	return a.Plus(b, -1)
}

// cancels reports whether an opaque integer that reads elements stands in both forms.
func cancels(f, g Form) bool {
	return slices.ContainsFunc(f.Rest, func(p Addend) bool {
		return p.Of.Reads() && slices.ContainsFunc(g.Rest, func(q Addend) bool { return term.Identical(p.Of, q.Of) })
	})
}

// Constant reports whether the form is a constant.
func (f Form) Constant() bool { return len(f.Vars) == 0 && len(f.Rest) == 0 }

// Plus returns f + factor*g.
func (f Form) Plus(g Form, factor int) Form {
	if factor == 0 {
		return f
	}
	out := Form{Base: f.Base + factor*g.Base, Vars: slices.Clone(f.Vars), Rest: slices.Clone(f.Rest)}
	for _, m := range g.Vars {
		i := slices.IndexFunc(out.Vars, func(o Multiple) bool { return o.Of == m.Of })
		if i < 0 {
			out.Vars = append(out.Vars, Multiple{m.Of, factor * m.Factor})
			continue
		}
		if out.Vars[i].Factor += factor * m.Factor; out.Vars[i].Factor == 0 {
			out.Vars = slices.Delete(out.Vars, i, i+1)
		}
	}
	for _, p := range g.Rest {
		i := slices.IndexFunc(out.Rest, func(o Addend) bool { return term.Identical(o.Of, p.Of) })
		if i < 0 {
			out.Rest = append(out.Rest, Addend{p.Of, factor * p.Factor})
			continue
		}
		if out.Rest[i].Factor += factor * p.Factor; out.Rest[i].Factor == 0 {
			out.Rest = slices.Delete(out.Rest, i, i+1)
		}
	}
	return out
}

// Without returns the form without the multiple of a variable.
func (f Form) Without(v *term.Variable) Form {
	return f.Plus(Form{Vars: []Multiple{{v, 1}}}, -f.Factor(v))
}

// WholeDigits replaces x / n * n + x % n by x, where x may itself be a quotient or a remainder by a multiple
// of n.
func (f Form) WholeDigits() Form {
	for i, low := range f.Rest {
		if low.Of.Op != term.Modulo {
			continue
		}
		x, d := low.Of.Args[0], low.Of.Args[1]
		n, known := d.Known()
		if !known || n <= 0 {
			continue
		}
		for j, high := range f.Rest {
			of, both := high.Of, x
			if of.Op == term.Modulo && i != j {
				if m, known := of.Args[1].Known(); known && m > 0 {
					of, both = of.Args[0], term.Arithmetic(term.Modulo, x, term.Number(n*m))
				}
			}
			if high.Factor != n*low.Factor || of.Op != term.Quotient || !term.Identical(of, term.Arithmetic(term.Quotient, x, d)) && !quotientOf(of, x, n) {
				continue
			}
			out := Form{Base: f.Base, Vars: f.Vars}
			for k, p := range f.Rest {
				if k != i && k != j {
					out.Rest = append(out.Rest, p)
				}
			}
			return out.Plus(Linear(both), low.Factor).WholeDigits()
		}
	}
	return f
}

// quotientOf reports whether x is a quotient z / a, and y is z / (a * n).
func quotientOf(y, x *term.Term, n int) bool {
	if x.Op != term.Quotient || !term.Identical(x.Args[0], y.Args[0]) {
		return false
	}
	a, known := x.Args[1].Known()
	b, both := y.Args[1].Known()
	return known && both && a > 0 && b == a*n
}

// Factor returns the coefficient of a variable.
func (f Form) Factor(v *term.Variable) int {
	for _, m := range f.Vars {
		if m.Of == v {
			return m.Factor
		}
	}
	return 0
}

// Hidden reports whether an opaque integer of the form depends on a variable.
func (f Form) Hidden(v *term.Variable) bool {
	return slices.ContainsFunc(f.Rest, func(p Addend) bool { return p.Of.Uses(v) })
}

// alone reports whether a form is v or -v plus a constant.
func (f Form) alone(v *term.Variable) bool {
	return len(f.Rest) == 0 && len(f.Vars) == 1 && f.Vars[0].Of == v && (f.Vars[0].Factor == 1 || f.Vars[0].Factor == -1)
}

// Same reports whether the coefficients of two forms are equal.
func (f Form) Same(g Form) bool { return f.Plus(g, -1).IsZero() }

// IsZero reports whether a form is the number 0.
func (f Form) IsZero() bool { return f.Constant() && f.Base == 0 }

// settled replaces comparisons, minima and maxima of integers by their values, where the ranges of indices
// decide them, and loads that may be outside of a tensor by those that are inside, or by what is there else.
func settled(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	if n.Op == term.Less || n.Op == term.AtMost || n.Op == term.Equal || n.Op == term.Unequal {
		if holds, known := compared(n); known {
			return term.Condition(holds)
		}
	}
	if n.Op == term.Element && n.Read.Else != nil {
		switch {
		case n.Kind == n.Read.Else.Kind && outside(n.Read):
			return settled(n.Read.Else)
		case n.Read.Which == nil && len(AccessOf(n.Read).Open) == 0:
			read := *n.Read
			read.Else = nil
			n = &term.Term{Op: term.Element, Kind: n.Kind, Read: &read}
		}
	}
	m := n.Map(settled)
	if m.Op == term.Subtract && m.Kind == term.Integer {
		if f := Linear(m); f.Constant() && f.Base < Farthest && f.Base > -Farthest {
			return term.Number(f.Base)
		}
	}
	if m.Op == term.Quotient || m.Op == term.Modulo { // (i + 32) % 64 for an i below 32, as ranges that are divided have
		if d, known := m.Args[1].Known(); known && d > 0 && ofIndices(m.Args[0]) {
			q := Linear(m.Args[0]).Bounds().Quotient(algebra.Exactly(d))
			switch {
			case q.Lo != q.Hi:
			case m.Op == term.Quotient:
				return term.Number(q.Lo)
			default:
				m = shiftedBy(m.Args[0], -q.Lo*d)
			}
		}
	}
	if x, at, moved := shifted(m); moved && ofIndices(m) {
		if y, more, twice := shifted(x); twice {
			return shiftedBy(y, at+more)
		}
	}
	if m.Op == term.Reduce && m.Reduction.Guard != nil {
		if holds, known := m.Reduction.Guard.Truth(); known && !holds && !m.Reduction.IsOrder() {
			return nothing(m)
		} else if known {
			r := *m.Reduction
			r.Guard = nil
			return &term.Term{Op: term.Reduce, Kind: m.Kind, Reduction: &r}
		}
	}
	if m.Op == term.Truncate {
		d, known := m.Args[1].Known()
		if b := Linear(m.Args[0]).Bounds(); known && d > 0 && b.Known && b.Lo >= 0 { // truncation is floor
			return term.Arithmetic(term.Quotient, m.Args[0], m.Args[1])
		}
	}
	if m.Op == term.Apply && m.Kind == term.Integer && m.Func.Has(term.Extreme) && m.Args[0].Kind == term.Integer && m.Args[1].Kind == term.Integer {
		d := differenceOf(m.Args[0], m.Args[1]).Bounds()
		switch {
		case d.Known && (d.Hi <= 0 && m.Func == term.Min || d.Lo >= 0 && m.Func == term.Max):
			return m.Args[0]
		case d.Known && (d.Lo >= 0 && m.Func == term.Min || d.Hi <= 0 && m.Func == term.Max):
			return m.Args[1]
		}
	}
	return m
}

// shifted takes n, which is x + at, at + x or x - -at, apart. moved is false for other terms.
func shifted(n *term.Term) (x *term.Term, at int, moved bool) {
	if n.Op != term.Add && n.Op != term.Subtract || n.Kind != term.Integer {
		return nil, 0, false
	}
	if at, moved = n.Args[0].Known(); moved && n.Op == term.Add {
		return n.Args[1], at, true
	}
	at, moved = n.Args[1].Known()
	if n.Op == term.Subtract {
		at = -at
	}
	return n.Args[0], at, moved
}

// shiftedBy returns x + at.
func shiftedBy(x *term.Term, at int) *term.Term {
	if at == 0 {
		return x
	}
	return term.Arithmetic(term.Add, x, term.Number(at))
}

// outside reports whether an access lies outside of its tensor for all values of the indices.
func outside(r *term.Read) bool {
	a := AccessOf(r)
	return slices.ContainsFunc(a.Open, func(d int) bool {
		b := a.Idx[d].Bounds()
		return b.Known && (b.Hi < 0 || b.Lo >= a.Ext[d])
	})
}

// nothing returns the value of a reduction without elements.
func nothing(n *term.Term) *term.Term {
	switch kind := n.Reduction.Kind; {
	case n.Kind == term.Boolean:
		return term.Condition(kind == reduction.All)
	case n.Kind == term.Integer:
		return term.Number(kind.IntegerIdentity())
	case kind == reduction.Mean || kind == reduction.Variance:
		return term.RealNumber(math.NaN())
	case n.Reduction.Relative():
		return term.RealNumber(0)
	default:
		return term.RealNumber(kind.Identity())
	}
}

// compared reports whether an integer comparison holds. known is false if the ranges of indices do not decide
// it.
func compared(n *term.Term) (holds, known bool) {
	if n.Args[0].Kind != term.Integer || n.Args[1].Kind != term.Integer {
		return false, false
	}
	d := differenceOf(n.Args[0], n.Args[1]).Bounds()
	if !d.Known {
		return false, false
	}
	switch n.Op {
	case term.Less:
		return d.Hi < 0, d.Hi < 0 || d.Lo >= 0
	case term.AtMost:
		return d.Hi <= 0, d.Hi <= 0 || d.Lo > 0
	case term.Equal:
		return d.Lo == 0 && d.Hi == 0, d.Lo == 0 && d.Hi == 0 || d.Lo > 0 || d.Hi < 0
	}
	return d.Lo > 0 || d.Hi < 0, d.Lo == 0 && d.Hi == 0 || d.Lo > 0 || d.Hi < 0
}

// SameValue reports whether two forms are equal for all values of their variables.
func (f Form) SameValue(g Form) bool {
	d := f.Plus(g, -1).Bounds()
	return d.Known && d.Lo == 0 && d.Hi == 0
}

// Farthest is the greatest absolute value of a subscript or of a difference of integers; larger ones are
// clamped. It is out of bounds of every extent.
const Farthest = math.MaxInt/2 + 1
