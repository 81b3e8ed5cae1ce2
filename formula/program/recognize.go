package program

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Recognized returns the element of a tensor whose value is n (common subexpression elimination). It matches
// n against the right side of each statement, with the statement's indices as pattern variables. It returns n
// itself if no statement matches, or if the tensor does not hold all of the value.
func (p *Program) Recognized(n *term.Term) *term.Term {
	for _, s := range p.Statements {
		if unlike(s.Value, n) {
			continue // as most statements, without memory for a match
		}
		if !holds(p.Tensors[s.Target], n.Kind) {
			continue
		}
		if s.Left.Which != nil || slices.ContainsFunc(s.Left.Idx, func(i *term.Term) bool { return i.Op != term.Index }) {
			continue
		}
		m := term.Match{Values: map[*term.Variable]*term.Term{}, Open: s.Vars}
		if !m.Same(s.Value, n) || !m.Settled() || slices.ContainsFunc(s.Vars, func(v *term.Variable) bool { return !given(s.Value, v, m.Values[v]) }) {
			continue
		}
		r := *s.Left
		r.Idx = nil
		for _, i := range s.Left.Idx {
			r.Idx = append(r.Idx, m.Values[i.Var])
		}
		return &term.Term{Op: term.Element, Kind: n.Kind, Read: &r}
	}
	return n
}

// holds reports whether elements of tensor l are values of kind k as formulas compute them. An integer of a
// type of fewer than 64 bits is not, since it may have wrapped around.
func holds(l *Local, k term.Kind) bool {
	return l.Kind == k && (k != term.Integer || l.Slot < 0 || l.Type == dtype.I64)
}

// unlike is a cheap test before a match. It returns true only if n cannot match value; it compares the roots
// and their first operands. If it returns false, n may still differ.
func unlike(value, n *term.Term) bool {
	if value.Op == term.Index {
		return false
	}
	if value.Op != n.Op || value.Kind != n.Kind || value.Func != n.Func || len(value.Args) != len(n.Args) {
		return true
	}
	if len(n.Args) == 0 {
		return false
	}
	v, x := value.Args[0], n.Args[0]
	return v.Op != term.Index && (v.Op != x.Op || v.Op == term.Element && v.Read.Tensor != x.Read.Tensor)
}

// given reports whether x, which the match assigned to index v, is in the range of v. Either the ranges are
// equal, or x is in range because n is in bounds: the statement's value loads, unconditionally, at a
// subscript that is linear in v and out of bounds for any v >= hi.
func given(value *term.Term, v *term.Variable, x *term.Term) bool {
	if x.Op == term.Index && x.Var.Lo.Is(0) && v.Lo.Is(0) && term.SameInteger(x.Var.Hi, v.Hi) {
		return true
	}
	hi, known := v.Hi.Known()
	if !known || !v.Lo.Is(0) {
		return false
	}
	if at, known := x.Known(); known {
		return 0 <= at && at < hi
	}
	last := map[*term.Variable]*term.Term{} // the last values of reduction indices
	inside := false
	surely(value, last, func(r *term.Read) {
		if r.Which != nil || r.Else != nil || r.ByNumber {
			return
		}
		for d, i := range r.Idx {
			step, rest, linear := term.Linear(i, v)
			if !linear || !term.NonNegative(rest) || slices.ContainsFunc(rest.Free(), func(w *term.Variable) bool { return last[w] == nil }) {
				continue
			}
			by, known := step.Known()
			most, ends := rest.Substitute(last).Known()
			extent, sized := r.Ext[d].Known()
			inside = inside || known && ends && sized && by > 0 && by*hi+most >= extent
		}
	})
	return inside
}

// surely calls visit for the elements that n loads unconditionally, and records the last values of the
// indices of enclosing reductions.
func surely(n *term.Term, last map[*term.Variable]*term.Term, visit func(*term.Read)) {
	args := n.Args
	switch n.Op {
	case term.Choose, term.And, term.Or:
		args = args[:1]
	case term.Element:
		visit(n.Read)
		args = n.Read.Idx
	case term.Reduce:
		for _, w := range n.Reduction.Vars {
			if hi, known := w.Hi.Known(); !known || hi == 0 || !w.Lo.Is(0) {
				return
			}
			last[w] = term.Difference(w.Hi, term.Number(1))
		}
		if n.Reduction.Guard == nil && n.Reduction.Body != nil {
			surely(n.Reduction.Body, last, visit)
		}
	}
	for _, a := range args {
		surely(a, last, visit)
	}
}
