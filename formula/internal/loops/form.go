package loops

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// form is an affine form of an integer: a constant, plus multiples of indices, plus multiples of opaque
// integers such as quotients and elements of tensors.
type form struct {
	base int
	vars []multiple
	rest []addend
}

type multiple struct {
	of     *term.Variable
	factor int
}

type addend struct {
	of     *term.Term
	factor int
}

// linear returns the affine form of an integer.
func linear(n *term.Term) form {
	if v, ok := n.Known(); ok {
		return form{base: v}
	}
	switch n.Op {
	case term.Index:
		return form{vars: []multiple{{n.Var, 1}}}
	case term.Add:
		return linear(n.Args[0]).plus(linear(n.Args[1]), 1)
	case term.Subtract:
		return linear(n.Args[0]).plus(linear(n.Args[1]), -1)
	case term.Negate:
		return form{}.plus(linear(n.Args[0]), -1)
	case term.Multiply:
		x, y := linear(n.Args[0]), linear(n.Args[1])
		if y.constant() {
			return form{}.plus(x, y.base)
		}
		if x.constant() {
			return form{}.plus(y, x.base)
		}
	}
	return form{rest: []addend{{n, 1}}}
}

// differenceOf returns the form of x - y. The difference is opaque if a constant is so large that a
// difference may overflow, as the maximum of no integers is.
func differenceOf(x, y *term.Term) form {
	a, b := linear(x), linear(y)
	if max(a.base, b.base) >= farthest || min(a.base, b.base) <= -farthest {
		return form{rest: []addend{{&term.Term{Op: term.Subtract, Kind: term.Integer, Args: []*term.Term{x, y}}, 1}}}
	}
	return a.plus(b, -1)
}

// constant reports whether the form is a constant.
func (f form) constant() bool { return len(f.vars) == 0 && len(f.rest) == 0 }

// plus returns f + factor*g.
func (f form) plus(g form, factor int) form {
	if factor == 0 {
		return f
	}
	out := form{base: f.base + factor*g.base, vars: slices.Clone(f.vars), rest: slices.Clone(f.rest)}
	for _, m := range g.vars {
		i := slices.IndexFunc(out.vars, func(o multiple) bool { return o.of == m.of })
		if i < 0 {
			out.vars = append(out.vars, multiple{m.of, factor * m.factor})
			continue
		}
		if out.vars[i].factor += factor * m.factor; out.vars[i].factor == 0 {
			out.vars = slices.Delete(out.vars, i, i+1)
		}
	}
	for _, p := range g.rest {
		i := slices.IndexFunc(out.rest, func(o addend) bool { return term.Identical(o.of, p.of) })
		if i < 0 {
			out.rest = append(out.rest, addend{p.of, factor * p.factor})
			continue
		}
		if out.rest[i].factor += factor * p.factor; out.rest[i].factor == 0 {
			out.rest = slices.Delete(out.rest, i, i+1)
		}
	}
	return out
}

// without returns the form without the multiple of a variable.
func (f form) without(v *term.Variable) form {
	return f.plus(form{vars: []multiple{{v, 1}}}, -f.factor(v))
}

// wholeDigits replaces x / n * n + x % n by x, where x may itself be a quotient or a remainder by a multiple
// of n.
func (f form) wholeDigits() form {
	for i, low := range f.rest {
		if low.of.Op != term.Modulo {
			continue
		}
		x, d := low.of.Args[0], low.of.Args[1]
		n, known := d.Known()
		if !known || n <= 0 {
			continue
		}
		for j, high := range f.rest {
			of, both := high.of, x
			if of.Op == term.Modulo && i != j {
				if m, known := of.Args[1].Known(); known && m > 0 {
					of, both = of.Args[0], term.Arithmetic(term.Modulo, x, term.Number(n*m))
				}
			}
			if high.factor != n*low.factor || of.Op != term.Quotient || !term.Identical(of, term.Arithmetic(term.Quotient, x, d)) && !quotientOf(of, x, n) {
				continue
			}
			out := form{base: f.base, vars: f.vars}
			for k, p := range f.rest {
				if k != i && k != j {
					out.rest = append(out.rest, p)
				}
			}
			return out.plus(linear(both), low.factor).wholeDigits()
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

// factor returns the coefficient of a variable.
func (f form) factor(v *term.Variable) int {
	for _, m := range f.vars {
		if m.of == v {
			return m.factor
		}
	}
	return 0
}

// hidden reports whether an opaque integer of the form depends on a variable.
func (f form) hidden(v *term.Variable) bool {
	return slices.ContainsFunc(f.rest, func(p addend) bool { return p.of.Uses(v) })
}

// same reports whether the coefficients of two forms are equal.
func (f form) same(g form) bool { return f.plus(g, -1).isZero() }

func (f form) isZero() bool { return f.constant() && f.base == 0 }

// settled replaces comparisons, minima and maxima of integers by their values, where the ranges of indices
// decide them.
func settled(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	if n.Op == term.Less || n.Op == term.AtMost || n.Op == term.Equal || n.Op == term.Unequal {
		if holds, known := compared(n); known {
			return term.Condition(holds)
		}
	}
	m := n.Map(settled)
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
		if b := linear(m.Args[0]).bounds(); known && d > 0 && b.Known && b.Lo >= 0 { // truncation is floor
			return term.Arithmetic(term.Quotient, m.Args[0], m.Args[1])
		}
	}
	if m.Op == term.Apply && m.Kind == term.Integer && m.Func.Has(term.Extreme) && m.Args[0].Kind == term.Integer && m.Args[1].Kind == term.Integer {
		d := differenceOf(m.Args[0], m.Args[1]).bounds()
		switch {
		case d.Known && (d.Hi <= 0 && m.Func == term.Min || d.Lo >= 0 && m.Func == term.Max):
			return m.Args[0]
		case d.Known && (d.Lo >= 0 && m.Func == term.Min || d.Hi <= 0 && m.Func == term.Max):
			return m.Args[1]
		}
	}
	return m
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
	d := differenceOf(n.Args[0], n.Args[1]).bounds()
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
