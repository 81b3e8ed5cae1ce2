package program

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Slopes records for which tensors a gradient of 0 must be masked. An element may be unused: statements read
// it only under a condition, at some indices, or as an operand of a max that selects another one. The
// gradient of an unused element is 0. It must stay 0 when it propagates to the definition of the element,
// even if the derivative there is infinite or NaN.
type Slopes struct {
	uncounted []bool // by tensor: whether some elements may be unused
	wild      []bool // by tensor: whether elements may be infinite or NaN although all inputs are finite
}

// Slopes analyzes the program by data flow: unused elements backward, infinite or NaN elements forward.
func (p *Program) Slopes() *Slopes {
	out := &Slopes{make([]bool, len(p.Tensors)), make([]bool, len(p.Tensors))}
	rounds := 1
	if Recurs(p.Statements) { // what holds for one statement of a block follows for others, above it and below it
		rounds = len(p.Statements)
	}
	for range rounds {
		for _, s := range slices.Backward(p.Statements) {
			p.uncounted(s.Value, out.uncounted[s.Target], out.uncounted)
		}
		for _, s := range p.Statements {
			out.wild[s.Target] = out.wild[s.Target] || out.isWild(s.Value)
		}
	}
	return out
}

// Masks reports whether a gradient of 0 at the target of s must be masked before it is multiplied by
// derivatives of the value.
func (l *Slopes) Masks(s *Statement) bool { return l.uncounted[s.Target] && l.Steep(s.Value) }

// Steep reports whether a derivative of n may be infinite or NaN although the inputs are finite.
func (l *Slopes) Steep(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) {
		if found || m.Kind != term.Real {
			return
		}
		switch m.Op {
		case term.Multiply, term.Divide:
			x, y := m.Args[0], m.Args[1]
			found = singular(m) || x.Reads() && l.isWild(y) || y.Reads() && l.isWild(x)
		case term.Power, term.Apply:
			found = singular(m) || !linear(m) && m.Reads() && slices.ContainsFunc(m.Args, l.isWild)
		case term.Reduce:
			kind, body := m.Reduction.Kind, m.Reduction.Body
			// The derivative of a product is the product of the other factors. It may overflow if there are
			// many.
			found = kind == reduction.Prod && body.Reads() ||
				(kind == reduction.Variance || kind == reduction.LogSumExp) && body.Reads() && l.isWild(body)
		}
	})
	return found
}

// isWild reports whether n may be infinite or NaN although the inputs are finite. It assumes that products
// and exponentials of elements do not overflow.
func (l *Slopes) isWild(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) {
		if found || m.Kind != term.Real {
			return
		}
		switch m.Op {
		case term.Element:
			for k := range m.Read.Count {
				found = found || l.wild[m.Read.Tensor+k]
			}
		case term.Reduce:
			r := m.Reduction
			found = r.Kind == reduction.Prod || r.Kind != reduction.Sum && (r.Guard != nil || slices.ContainsFunc(r.Vars, func(v *term.Variable) bool {
				lo, known := v.Lo.Known()
				hi, both := v.Hi.Known()
				return !known || !both || hi <= lo
			}))
		case term.Power:
			found = m.Reads()
		default:
			found = singular(m)
		}
	})
	return found
}

// linear reports whether n is a function with finite derivatives everywhere.
func linear(n *term.Term) bool {
	return n.Op == term.Apply && n.Func.Has(term.Exact|term.Conversion)
}

// singular reports whether operation n has an infinite or NaN result or derivative for some finite operands.
func singular(n *term.Term) bool {
	switch n.Op {
	case term.Divide:
		return n.Args[1].Reads()
	case term.Power:
		return n.Kind == term.Real && n.Reads() && !(n.Args[1].Op == term.Constant && n.Args[1].Value() >= 1)
	case term.Apply:
		return n.Func.Has(term.Singular) && n.Reads()
	}
	return false
}

// uncounted marks in out the tensors some of whose elements n may leave unused. partly says that n itself may
// be unused.
func (p *Program) uncounted(n *term.Term, partly bool, out []bool) {
	if n == nil || n.Kind != term.Real {
		return
	}
	args := n.Args
	switch n.Op {
	case term.Element:
		r := n.Read
		p.uncounted(r.Else, true, out)
		some := partly || r.Else != nil || r.Which != nil || !p.covers(r)
		for k := range r.Count {
			out[r.Tensor+k] = out[r.Tensor+k] || some
		}
	case term.Choose:
		args, partly = n.Args[1:], true
	case term.Apply:
		partly = partly || n.Func.Has(term.Extreme)
	case term.Reduce:
		r := n.Reduction
		p.uncounted(r.Body, partly || r.Guard != nil || r.Kind.Is(reduction.Extreme) || slices.ContainsFunc(r.Vars, func(v *term.Variable) bool {
			_, known := v.Hi.Known()
			return !known || !v.Lo.Is(0)
		}), out)
	}
	for _, x := range args {
		p.uncounted(x, partly, out)
	}
}

// covers reports whether r reads all elements of its tensor: its subscripts are distinct indices over the
// full extents.
func (p *Program) covers(r *term.Read) bool {
	if r.ByNumber {
		own, known := term.Total(r.Ext).Known()
		all, sized := term.Total(p.Tensors[r.Tensor].Shape).Known()
		if !known || !sized || own != all {
			return false
		}
	}
	for i, x := range r.Idx {
		if x.Op != term.Index || !x.Var.Lo.Is(0) || !term.SameInteger(x.Var.Hi, r.Ext[i]) ||
			slices.ContainsFunc(r.Idx[:i], func(y *term.Term) bool { return term.Identical(x, y) }) {
			return false
		}
	}
	return true
}
