package term

import "github.com/opgen/opgen/formula/affine"

// deepest bounds the recursion into ranges that depend on other indices.
const deepest = 64

// Spans computes intervals of integers, by interval arithmetic over the ranges of their indices. The interval
// is unknown for integers that depend on elements of tensors, for operations without a rule, and if it
// overflows int. An index with an empty range counts as its lower bound.
type Spans struct {
	InUse bool                      // whether symbols that stand for all values have their values in this use
	Known map[*Term]affine.Interval // memo of intervals by term; nil for no memo
}

// Of returns the interval of integer n.
func (s *Spans) Of(n *Term) affine.Interval { return s.of(n, deepest) }

func (s *Spans) of(n *Term, depth int) affine.Interval {
	if depth == 0 || n.Kind == Real {
		return affine.Interval{}
	}
	if s.Known == nil || n.Op == Constant || n.Op == Symbol {
		return s.rule(n, depth-1)
	}
	i, ok := s.Known[n]
	if !ok {
		i = s.rule(n, depth-1)
		s.Known[n] = i
	}
	return i
}

// rule returns the interval of n, from those of its operands.
func (s *Spans) rule(n *Term, depth int) affine.Interval {
	of := func(i int) affine.Interval { return s.of(n.Args[i], depth) }
	switch n.Op {
	case Constant, Symbol:
		return affine.Interval{Lo: n.Int, Hi: n.Int, Known: s.InUse || !n.Unknown}
	case Index:
		lo, hi := s.of(n.Var.Lo, depth), s.of(n.Var.Hi, depth).Plus(affine.Exactly(-1))
		return affine.Interval{Lo: lo.Lo, Hi: max(hi.Hi, lo.Lo), Known: lo.Known && hi.Known}
	case Choose:
		return of(1).Either(of(2))
	case Negate:
		return of(0).Times(-1)
	case Add:
		return of(0).Plus(of(1))
	case Subtract:
		return of(0).Plus(of(1).Times(-1))
	case Multiply:
		return of(0).Mul(of(1))
	case Quotient:
		return of(0).Quotient(of(1))
	case Modulo:
		if x := of(0); x.Known {
			return x.Modulo(of(1))
		}
	case Apply:
		switch {
		case n.Func == Min:
			return of(0).Least(of(1))
		case n.Func == Max:
			return of(0).Greatest(of(1))
		case n.Func.Keep != nil && len(n.Args) == 1: // the absolute value
			x := of(0)
			return x.Greatest(x.Times(-1)).Greatest(affine.Exactly(0))
		}
	}
	return affine.Interval{}
}
