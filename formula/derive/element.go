package derive

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// number returns the row-major number of an element among those of its tensor.
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

// sameElement reports whether two elements of tensors of equal sizes have the same number, for all values of
// the indices.
func sameElement(a, b *term.Read) bool {
	if b.Which != nil || len(a.Idx) == len(b.Idx) && identicalAll(a.Idx, b.Idx) && sameAll(a.Ext, b.Ext) {
		return b.Which == nil
	}
	return term.SameInteger(lone(number(a)), lone(number(b)))
}

// lone returns an integer in which indices of one value in this use are that value.
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

// sameAll reports whether extents are equal in this use, which is enough where a rule compares sizes in this
// use as well.
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

// Size returns how many elements a tensor of a program has in its use.
func Size(l *program.Local) int {
	n, _ := term.Total(l.Shape).Known()
	return n
}

// takes reports whether a read may be of an element of a tensor.
func takes(r *term.Read, tensor int) bool { return r.Tensor <= tensor && tensor < r.Tensor+r.Count }
