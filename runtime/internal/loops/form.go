package loops

import (
	"slices"

	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/shape"
)

// form is an integer as a linear form: a number, multiples of variables, and multiples of values of other kinds, such as
// quotients and elements of tensors.
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

// linear returns an integer as a linear form.
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

// constant reports whether the form is a number.
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

// factor returns the multiple of a variable.
func (f form) factor(v *term.Variable) int {
	for _, m := range f.vars {
		if m.of == v {
			return m.factor
		}
	}
	return 0
}

// hidden reports whether a variable occurs in the values that are not linear.
func (f form) hidden(v *term.Variable) bool {
	return slices.ContainsFunc(f.rest, func(p addend) bool { return p.of.Uses(v) })
}

// same reports whether two forms have the same value.
func (f form) same(g form) bool { return f.plus(g, -1).isZero() }

func (f form) isZero() bool { return f.constant() && f.base == 0 }

// interval holds the least and the greatest value of an integer.
type interval struct {
	lo, hi int
	known  bool
}

// bounds returns the interval of a form.
func (f form) bounds() interval {
	out := interval{f.base, f.base, true}
	for _, m := range f.vars {
		out = out.plus(rangeOf(m.of).times(m.factor))
	}
	for _, p := range f.rest {
		out = out.plus(boundsOf(p.of).times(p.factor))
	}
	return out
}

func (i interval) plus(j interval) interval {
	return interval{i.lo + j.lo, i.hi + j.hi, i.known && j.known}
}

func (i interval) times(k int) interval {
	if k < 0 {
		return interval{i.hi * k, i.lo * k, i.known}
	}
	return interval{i.lo * k, i.hi * k, i.known}
}

// rangeOf returns the values that a variable may take.
func rangeOf(v *term.Variable) interval {
	lo, hi := linear(v.Lo).bounds(), linear(v.Hi).bounds()
	return interval{lo.lo, hi.hi - 1, lo.known && hi.known && hi.hi > lo.lo}
}

// boundsOf returns the interval of an integer that is not linear.
func boundsOf(n *term.Term) interval {
	switch {
	case n.Op == term.Choose:
		x, y := linear(n.Args[1]).bounds(), linear(n.Args[2]).bounds()
		return interval{min(x.lo, y.lo), max(x.hi, y.hi), x.known && y.known}
	case n.Op == term.Apply && (n.Func.Name == "min" || n.Func.Name == "max"):
		x, y := linear(n.Args[0]).bounds(), linear(n.Args[1]).bounds()
		if n.Func.Name == "min" {
			return interval{min(x.lo, y.lo), min(x.hi, y.hi), x.known && y.known}
		}
		return interval{max(x.lo, y.lo), max(x.hi, y.hi), x.known && y.known}
	case n.Op == term.Quotient || n.Op == term.Modulo:
		d, ok := n.Args[1].Known()
		x := linear(n.Args[0]).bounds()
		switch {
		case !ok || d <= 0:
			return interval{}
		case n.Op == term.Quotient:
			return interval{shape.FloorDiv(x.lo, d), shape.FloorDiv(x.hi, d), x.known}
		case x.known && x.lo >= 0 && x.hi < d:
			return x
		}
		return interval{0, d - 1, true} // of any number
	}
	return interval{}
}

// settled returns a value in which comparisons that hold, or fail, for all values of the indices are known, and so are extremes of integers.
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
	if m.Op == term.Truncate {
		d, known := m.Args[1].Known()
		if b := linear(m.Args[0]).bounds(); known && d > 0 && b.known && b.lo >= 0 { // it is rounded down, too
			return term.Arithmetic(term.Quotient, m.Args[0], m.Args[1])
		}
	}
	if m.Op == term.Apply && m.Kind == term.Integer && (m.Func.Name == "min" || m.Func.Name == "max") && m.Args[0].Kind == term.Integer && m.Args[1].Kind == term.Integer {
		d := linear(m.Args[0]).plus(linear(m.Args[1]), -1).bounds()
		switch {
		case d.known && (d.hi <= 0 && m.Func.Name == "min" || d.lo >= 0 && m.Func.Name == "max"):
			return m.Args[0]
		case d.known && (d.lo >= 0 && m.Func.Name == "min" || d.hi <= 0 && m.Func.Name == "max"):
			return m.Args[1]
		}
	}
	return m
}

// compared tells whether a comparison of integers holds, if that follows from the ranges of the indices.
func compared(n *term.Term) (holds, known bool) {
	if n.Args[0].Kind != term.Integer || n.Args[1].Kind != term.Integer {
		return false, false
	}
	d := linear(n.Args[0]).plus(linear(n.Args[1]), -1).bounds()
	if !d.known {
		return false, false
	}
	switch n.Op {
	case term.Less:
		return d.hi < 0, d.hi < 0 || d.lo >= 0
	case term.AtMost:
		return d.hi <= 0, d.hi <= 0 || d.lo > 0
	case term.Equal:
		return d.lo == 0 && d.hi == 0, d.lo == 0 && d.hi == 0 || d.lo > 0 || d.hi < 0
	}
	return d.lo > 0 || d.hi < 0, d.lo == 0 && d.hi == 0 || d.lo > 0 || d.hi < 0
}
