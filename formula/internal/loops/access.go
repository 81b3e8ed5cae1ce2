package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// forms calls visit for every affine form in a value: offsets of accesses, subscripts of accesses that loops
// check, and other integers.
func forms(n *term.Term, visit func(rewrite.Form)) { walker{visit, false}.forms(n) }

// walker visits affine forms.
type walker struct {
	visit func(rewrite.Form)
	// open says that, of an access whose bounds loops check, subscripts are visited as numbered writes them:
	// adjacent ones that are in bounds as one row-major number.
	open bool
}

func (w walker) forms(n *term.Term) {
	if n == nil {
		return
	}
	if n.Kind == term.Integer {
		f := rewrite.Linear(n)
		if len(f.Vars) > 0 {
			w.visit(f)
		}
		for _, p := range f.Rest {
			w.parts(p.Of)
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
		a := rewrite.AccessOf(r)
		w.visit(a.Offset)
		switch { // bounds are checked by dimension
		case len(a.Open) == 0:
		case w.open:
			for _, x := range numbered(r).Idx {
				w.visit(rewrite.Linear(x))
			}
		default:
			for _, f := range a.Idx {
				w.visit(f)
			}
		}
		for _, f := range append([]rewrite.Form{a.Offset}, a.Idx...) {
			for _, p := range f.Rest {
				w.parts(p.Of)
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
