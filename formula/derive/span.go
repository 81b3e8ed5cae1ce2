package derive

import (
	"github.com/opgen/opgen/formula/term"
)

// deepest bounds how far ranges of indices that depend on others are followed.
const deepest = 64

// spanOf returns the least and the greatest value of an integer, by interval arithmetic over the ranges of
// its indices. ok is false if it depends on elements of tensors, or in another way that is not followed. An
// index without a value counts as one with the first.
func spanOf(n *term.Term) (lo, hi int, ok bool) { return span(n, deepest) }

func span(n *term.Term, depth int) (lo, hi int, ok bool) {
	if depth == 0 || n.Kind == term.Real {
		return 0, 0, false
	}
	switch n.Op {
	case term.Constant, term.Symbol:
		return n.Int, n.Int, !n.Unknown
	case term.Index:
		lo, _, ok = span(n.Var.Lo, depth-1)
		_, hi, both := span(n.Var.Hi, depth-1)
		return lo, max(hi-1, lo), ok && both
	case term.Choose:
		a, b, ok := span(n.Args[1], depth-1)
		c, d, both := span(n.Args[2], depth-1)
		return min(a, c), max(b, d), ok && both
	case term.Apply:
		if !n.Func.Has(term.KeepsIntegers) {
			return 0, 0, false
		}
	case term.Negate, term.Add, term.Subtract, term.Multiply, term.Quotient, term.Modulo:
	default:
		return 0, 0, false
	}
	a, b, ok := span(n.Args[0], depth-1)
	if !ok || len(n.Args) == 1 {
		switch {
		case n.Op == term.Negate:
			return -b, -a, ok
		case a >= 0:
			return a, b, ok
		case b <= 0:
			return -b, -a, ok
		}
		return 0, max(-a, b), ok
	}
	c, d, ok := span(n.Args[1], depth-1)
	if !ok {
		return 0, 0, false
	}
	switch n.Op {
	case term.Add:
		return a + c, b + d, true
	case term.Subtract:
		return a - d, b - c, true
	case term.Multiply:
		return min(a*c, a*d, b*c, b*d), max(a*c, a*d, b*c, b*d), true
	case term.Apply:
		if n.Func == term.Min {
			return min(a, c), min(b, d), true
		}
		return max(a, c), max(b, d), true
	}
	if c <= 0 {
		return 0, 0, false
	}
	quotient := func(x, y int) int { return term.IntegerOf(term.Quotient, x, y) }
	if n.Op == term.Quotient {
		return min(quotient(a, c), quotient(a, d)), max(quotient(b, c), quotient(b, d)), true
	}
	if c == d && quotient(a, c) == quotient(b, c) {
		return term.IntegerOf(term.Modulo, a, c), term.IntegerOf(term.Modulo, b, c), true
	}
	return 0, d - 1, true
}

// atLeast reports whether an integer is at least least for all values of the indices in it. A minimum or a
// maximum at its top is taken apart, so that an index on both sides of a difference does not count twice.
func atLeast(n *term.Term, least int) bool {
	lo, _, ok := spanOf(term.Norm(n))
	return ok && lo >= least
}

// exceeds reports whether hi - lo is at least least for all values of the indices in them.
func exceeds(hi, lo *term.Term, least int) bool {
	switch {
	case isApplied(hi, term.Min):
		return exceeds(hi.Args[0], lo, least) && exceeds(hi.Args[1], lo, least)
	case isApplied(lo, term.Max):
		return exceeds(hi, lo.Args[0], least) && exceeds(hi, lo.Args[1], least)
	case isApplied(hi, term.Max) && (exceeds(hi.Args[0], lo, least) || exceeds(hi.Args[1], lo, least)):
		return true
	case isApplied(lo, term.Min) && (exceeds(hi, lo.Args[0], least) || exceeds(hi, lo.Args[1], least)):
		return true
	}
	return atLeast(term.Difference(hi, lo), least)
}

func isApplied(n *term.Term, f *term.Function) bool { return n.Op == term.Apply && n.Func == f }

// occupied reports whether the range of an index has a value for all values of the indices on which it
// depends.
func occupied(v *term.Variable) bool { return exceeds(v.Hi, v.Lo, 1) }

// extentOf returns how many values an index has: none where its range ends before it begins.
func extentOf(v *term.Variable) *term.Term {
	n := term.Difference(v.Hi, v.Lo)
	if exceeds(v.Hi, v.Lo, 0) {
		return n
	}
	return term.Greatest(term.Number(0), n)
}

// inside reports whether an element lies in its tensor for all values of its indices.
func inside(r *term.Read) bool {
	idx, ext := r.Idx, r.Ext
	if r.Which != nil {
		idx, ext = append([]*term.Term{r.Which}, idx...), append([]*term.Term{term.Number(r.Count)}, ext...)
	}
	for i, x := range idx {
		lo, hi, ok := spanOf(x)
		if !ok {
			lo, hi, ok = spanOf(term.Norm(x))
		}
		n, known := ext[i].Known()
		if !ok || !known || lo < 0 || hi >= n {
			return false
		}
	}
	return true
}

// certain reports whether all elements that a value reads surely lie in their tensors, or have a value
// outside.
func certain(n *term.Term) bool {
	ok := true
	n.Walk(func(m *term.Term) { ok = ok && (m.Op != term.Element || m.Read.Else != nil || inside(m.Read)) })
	return ok
}
