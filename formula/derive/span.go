package derive

import (
	"github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/term"
)

// deepest bounds the recursion into ranges that depend on other indices.
const deepest = 64

// spanOf returns the least and the greatest value of an integer, both inclusive, by interval arithmetic over
// the ranges of its indices. ok is false if n depends on elements of tensors, on an operation that has no
// rule, or if an int does not hold a bound. An index with an empty range counts as its lower bound.
func spanOf(n *term.Term) (lo, hi int, ok bool) {
	i := span(n, deepest)
	return i.Lo, i.Hi, i.Known
}

func span(n *term.Term, depth int) affine.Interval {
	if depth == 0 || n.Kind == term.Real {
		return affine.Interval{}
	}
	of := func(i int) affine.Interval { return span(n.Args[i], depth-1) }
	switch n.Op {
	case term.Constant, term.Symbol:
		return affine.Interval{Lo: n.Int, Hi: n.Int, Known: !n.Unknown}
	case term.Index:
		lo, hi := span(n.Var.Lo, depth-1), span(n.Var.Hi, depth-1).Plus(affine.Exactly(-1))
		return affine.Interval{Lo: lo.Lo, Hi: max(hi.Hi, lo.Lo), Known: lo.Known && hi.Known}
	case term.Choose:
		return of(1).Either(of(2))
	case term.Negate:
		return of(0).Times(-1)
	case term.Add:
		return of(0).Plus(of(1))
	case term.Subtract:
		return of(0).Plus(of(1).Times(-1))
	case term.Multiply:
		return of(0).Mul(of(1))
	case term.Quotient:
		return of(0).Quotient(of(1))
	case term.Modulo:
		if x := of(0); x.Known {
			return x.Modulo(of(1))
		}
	case term.Apply:
		switch {
		case n.Func == term.Min:
			return of(0).Least(of(1))
		case n.Func == term.Max:
			return of(0).Greatest(of(1))
		case n.Func.Has(term.KeepsIntegers) && len(n.Args) == 1: // the absolute value
			x := of(0)
			return x.Greatest(x.Times(-1)).Greatest(affine.Exactly(0))
		}
	}
	return affine.Interval{}
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
