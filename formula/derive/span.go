package derive

import (
	"github.com/opgen/opgen/formula/term"
)

// deepest bounds the recursion into ranges that depend on other indices.
const deepest = 64

// spanOf returns the least and the greatest value of an integer, both inclusive, by interval arithmetic over
// the ranges of its indices. ok is false if n depends on elements of tensors, or on an operation that has no
// rule. An index with an empty range counts as its lower bound.
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

// atLeast reports whether n >= least for all values of its indices. n is normalized first, so that an index
// on both sides of a difference cancels.
func atLeast(n *term.Term, least int) bool {
	lo, _, ok := spanOf(term.Norm(n))
	return ok && lo >= least
}

// exceeds reports whether hi - lo >= least for all values of the indices. It splits a minimum or a maximum
// at the root, so that indices cancel in each case.
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

// occupied reports whether the range of v is never empty, for all values of outer indices.
func occupied(v *term.Variable) bool { return exceeds(v.Hi, v.Lo, 1) }

// extentOf returns the length of the range of v: 0 if the range is empty.
func extentOf(v *term.Variable) *term.Term {
	n := term.Difference(v.Hi, v.Lo)
	if exceeds(v.Hi, v.Lo, 0) {
		return n
	}
	return term.Greatest(term.Number(0), n)
}

// inside reports whether element r is in bounds for all values of its indices.
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

// certain reports whether all elements in n are in bounds, or have a default.
func certain(n *term.Term) bool {
	ok := true
	n.Walk(func(m *term.Term) { ok = ok && (m.Op != term.Element || m.Read.Else != nil || inside(m.Read)) })
	return ok
}
