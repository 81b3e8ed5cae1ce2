package derive

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// number returns the row-major flat index of an element.
func number(r *term.Read) *term.Term {
	out := term.Number(0)
	for i, x := range r.Idx {
		if x.IsZero() && !r.ByNumber && i > 0 {
			out = term.Arithmetic(term.Multiply, out, r.Ext[i])
			continue
		}
		out = term.Sum(term.Arithmetic(term.Multiply, out, r.Ext[i]), x)
	}
	return out
}

// sameElement reports whether a and b, elements of tensors of equal sizes, have the same flat index for all
// values of the variables.
func sameElement(a, b *term.Read) bool {
	if b.Which != nil || len(a.Idx) == len(b.Idx) && identicalAll(a.Idx, b.Idx) && sameAll(a.Ext, b.Ext) {
		return b.Which == nil
	}
	return term.SameInteger(lone(number(a)), lone(number(b)))
}

// lone replaces each index whose range has one value in this use by that value.
func lone(n *term.Term) *term.Term {
	if n.Op == term.Index {
		if lo, known := n.Var.Lo.Known(); known {
			if hi, known := n.Var.Hi.Known(); known && hi == lo+1 {
				return term.Number(lo)
			}
		}
	}
	return n.Map(lone)
}

func identicalAll(x, y []*term.Term) bool {
	for i := range x {
		if !term.Identical(x[i], y[i]) {
			return false
		}
	}
	return true
}

// sameAll reports whether the extents x and y are equal in this use. It does not prove them equal in general,
// since its caller compares sizes in this use as well.
func sameAll(x, y []*term.Term) bool {
	for i := range x {
		a, known := x[i].Known()
		b, both := y[i].Known()
		if !term.SameInteger(x[i], y[i]) && (!known || !both || a != b) {
			return false
		}
	}
	return true
}

// Size returns the number of elements of a tensor in its use.
func Size(l *program.Local) int {
	n, _ := term.Total(l.Shape).Known()
	return n
}

// takes reports whether r may read an element of tensor. A read whose subscript Which selects among Count
// tensors may read each.
func takes(r *term.Read, tensor int) bool { return r.Tensor <= tensor && tensor < r.Tensor+r.Count }
