package program

import (
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Unsigned reports whether an integer term has the type uint64: it is an element of such a tensor, or an
// operation on uint64 and non-negative operands other than a difference. Its value is stored in the bits of
// an int64.
func (p *Program) Unsigned(n *term.Term) bool {
	if n == nil || n.Kind != term.Integer {
		return false
	}
	switch n.Op {
	case term.Element:
		for i := range n.Read.Count {
			if !p.Tensors[n.Read.Tensor+i].Unsigned {
				return false
			}
		}
		return n.Read.Else == nil || p.Natural(n.Read.Else)
	case term.Choose:
		return p.either(n.Args[1], n.Args[2])
	case term.Reduce:
		return n.Reduction.Kind.Is(reduction.Same) && p.Unsigned(n.Reduction.Body)
	case term.Apply:
		switch n.Func {
		case term.Abs:
			return p.Unsigned(n.Args[0])
		case term.Max:
			return p.Unsigned(n.Args[0]) || p.Unsigned(n.Args[1])
		case term.Min:
			return p.either(n.Args[0], n.Args[1])
		}
		return n.Func.To == dtype.U64
	case term.Add, term.Multiply, term.Power, term.Quotient, term.Truncate, term.Modulo:
		return p.either(n.Args[0], n.Args[1])
	}
	return false
}

// either reports whether one of x and y is unsigned and the other is unsigned or non-negative.
func (p *Program) either(x, y *term.Term) bool {
	a, b := p.Unsigned(x), p.Unsigned(y)
	return a && b || a && p.Natural(y) || b && p.Natural(x)
}

// Natural reports whether n is known to be an integer >= 0.
func (p *Program) Natural(n *term.Term) bool {
	if n.Kind != term.Integer {
		return false
	}
	if v, known := n.Known(); known {
		return v >= 0
	}
	if n.Op == term.Index {
		lo, known := n.Var.Lo.Known()
		return known && lo >= 0
	}
	return n.Op == term.Reduce && n.Reduction.Kind == reduction.Count || p.Unsigned(n)
}
