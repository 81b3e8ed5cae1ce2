package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// Access is a load or store with the affine forms of its subscripts and of its offset, in elements.
type Access struct {
	Offset Form
	Idx    []Form
	Ext    []int
	Open   []int // the dimensions whose subscripts are not proved to be in bounds
}

// AccessOf computes the affine forms of a read.
func AccessOf(r *term.Read) *Access {
	a := &Access{Ext: make([]int, len(r.Ext))}
	for i, n := range r.Ext {
		a.Ext[i], _ = n.Known()
	}
	stride := 1
	for i := len(r.Idx) - 1; i >= 0; i-- {
		f := Linear(r.Idx[i])
		a.Idx = append(a.Idx, f)
		a.Offset = a.Offset.Plus(f, stride)
		stride *= a.Ext[i]
	}
	a.Offset = a.Offset.WholeDigits()
	slices.Reverse(a.Idx)
	for i, f := range a.Idx {
		if b := f.Bounds(); !b.Known || b.Lo < 0 || b.Hi >= a.Ext[i] {
			a.Open = append(a.Open, i)
		}
	}
	return a
}

// Affine returns the row-major number of an element among those with the same subscripts where these are not
// affine or not proved to be in bounds. Elements with different numbers differ.
func (a *Access) Affine() (number Form) {
	after := 1
	for d, f := range slices.Backward(a.Idx) {
		if len(f.Rest) == 0 && !slices.Contains(a.Open, d) {
			number = number.Plus(f, after)
			after *= a.Ext[d]
		}
	}
	return number
}

// Dimension returns the number of the dimension with an extent whose neighbors are a distance apart. It
// returns -1 if there is none.
func (a *Access) Dimension(distance, extent int) int {
	after := 1
	for d := len(a.Ext) - 1; d >= 0 && after <= distance; d-- {
		if after == distance && a.Ext[d] == extent {
			return d
		}
		after *= a.Ext[d]
	}
	return -1
}

// Reads calls visit for all loads in a value.
func Reads(n *term.Term, visit func(*term.Read)) {
	n.Walk(func(m *term.Term) {
		if m.Op == term.Element {
			visit(m.Read)
		}
	})
}

// Stride returns by how many elements the offset of an access grows with an index. known is false if the
// offset is not affine in the index.
func Stride(r *term.Read, v *term.Variable) (elements int, known bool) {
	f := AccessOf(r).Offset
	return f.Factor(v), !f.Hidden(v)
}

// Offset returns the offset of an access where all indices are 0. linear is false if the offset is not
// affine, or if subscripts are not proved to be in bounds.
func Offset(r *term.Read) (elements int, linear bool) {
	a := AccessOf(r)
	return a.Offset.Base, len(a.Offset.Rest) == 0 && len(a.Open) == 0 && r.Which == nil
}

// Row describes an access as rows of elements, one row for each iteration of the outer loops. stride is the
// distance of rows. first and last are the least and the greatest offset in a row, relative to its begin.
// known is false if the access has another form.
func Row(r *term.Read, outer []*term.Variable) (stride, first, last int, known bool) {
	a := AccessOf(r)
	if len(a.Offset.Rest) > 0 || len(a.Open) > 0 || r.Which != nil {
		return 0, 0, 0, false
	}
	inner, after := a.Offset, 1
	for i := len(outer) - 1; i >= 0; i-- {
		switch factor := a.Offset.Factor(outer[i]); {
		case Extent(outer[i]) == 1:
		case after == 1:
			stride = factor
		case factor != stride*after:
			return 0, 0, 0, false
		}
		after *= Extent(outer[i])
		inner = inner.Without(outer[i])
	}
	b := inner.Bounds()
	return stride, b.Lo, b.Hi, b.Known
}

// Bounds returns the least and the greatest value of an integer. known is false if one of them is not known.
func Bounds(n *term.Term) (lo, hi int, known bool) {
	b := Linear(n).Bounds()
	return b.Lo, b.Hi, b.Known
}
