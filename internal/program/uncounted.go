package program

import (
	"slices"

	"github.com/opgen/opgen/internal/term"
)

// Uncounted reports for each tensor whether some of its elements may not count: a statement reads elements where a condition holds, beside a
// value outside, at some indices, or chooses among them. The gradient of an element that does not count is 0, and stays 0 through what
// gives the element, also where a slope there is infinite.
func (p *Program) Uncounted() []bool {
	out := make([]bool, len(p.Tensors))
	for _, s := range slices.Backward(p.Statements) {
		p.uncounted(s.Value, out[s.Target], out)
	}
	return out
}

// uncounted notes the tensors of whose elements a value reads some; partly says that the value itself does not always count.
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
		partly = partly || n.Func.Name == "max" || n.Func.Name == "min"
	case term.Reduce:
		r := n.Reduction
		p.uncounted(r.Body, partly || r.Guard != nil || r.Kind == "max" || r.Kind == "min" || slices.ContainsFunc(r.Vars, func(v *term.Variable) bool {
			_, known := v.Hi.Known()
			return !known || !v.Lo.Is(0)
		}), out)
	}
	for _, x := range args {
		p.uncounted(x, partly, out)
	}
}

// covers reports whether a read is of all elements of a tensor: each index is one of its own, over the extent.
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
