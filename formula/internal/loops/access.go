package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// access is a load or store with the affine forms of its subscripts and of its offset, in elements.
type access struct {
	offset form
	idx    []form
	ext    []int
	open   []int // the dimensions whose subscripts are not proved to be in bounds
}

// accessOf computes the affine forms of a read.
func accessOf(r *term.Read) *access {
	a := &access{ext: make([]int, len(r.Ext))}
	for i, n := range r.Ext {
		a.ext[i], _ = n.Known()
	}
	stride := 1
	for i := len(r.Idx) - 1; i >= 0; i-- {
		f := linear(r.Idx[i])
		a.idx = append(a.idx, f)
		a.offset = a.offset.plus(f, stride)
		stride *= a.ext[i]
	}
	a.offset = a.offset.wholeDigits()
	slices.Reverse(a.idx)
	for i, f := range a.idx {
		if b := f.bounds(); !b.Known || b.Lo < 0 || b.Hi >= a.ext[i] {
			a.open = append(a.open, i)
		}
	}
	return a
}

// reads calls visit for all loads in a value.
func reads(n *term.Term, visit func(*term.Read)) {
	n.Walk(func(m *term.Term) {
		if m.Op == term.Element {
			visit(m.Read)
		}
	})
}

// forms calls visit for every affine form in a value: offsets of accesses, subscripts of accesses that loops
// check, and other integers.
func forms(n *term.Term, visit func(form)) { walker{visit, false}.forms(n) }

// walker visits affine forms.
type walker struct {
	visit func(form)
	// open says that, of an access whose bounds loops check, subscripts are visited as numbered writes them:
	// adjacent ones that are in bounds as one row-major number.
	open bool
}

func (w walker) forms(n *term.Term) {
	if n == nil {
		return
	}
	if n.Kind == term.Integer {
		f := linear(n)
		if len(f.vars) > 0 {
			w.visit(f)
		}
		for _, p := range f.rest {
			w.parts(p.of)
		}
		return
	}
	w.parts(n)
}

// parts visits the affine forms in the operands of a value.
func (w walker) parts(n *term.Term) {
	for _, a := range n.Args {
		w.forms(a)
	}
	if r := n.Read; r != nil {
		a := accessOf(r)
		w.visit(a.offset)
		switch { // bounds are checked by dimension
		case len(a.open) == 0:
		case w.open:
			for _, x := range numbered(r).Idx {
				w.visit(linear(x))
			}
		default:
			for _, f := range a.idx {
				w.visit(f)
			}
		}
		for _, f := range append([]form{a.offset}, a.idx...) {
			for _, p := range f.rest {
				w.parts(p.of)
			}
		}
		w.forms(r.Which)
		w.forms(r.Else)
	}
	if r := n.Reduction; r != nil {
		for _, v := range r.Vars {
			w.forms(v.Lo)
			w.forms(v.Hi)
		}
		w.forms(r.Guard)
		w.forms(r.Body)
		w.forms(r.Number)
	}
}
