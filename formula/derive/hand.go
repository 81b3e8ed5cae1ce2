package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// byHand appends the gradients that the formula defines itself. They read 0 in place of the gradient of an
// output that has none.
func (d *deriver) byHand() {
	absent := map[int]bool{}
	own := d.p.ByHand()
	for t, id := range d.p.Grads {
		if _, given := d.out.Of[t]; !given && !slices.Contains(own, t) {
			absent[id] = true
		}
	}
	for _, s := range d.p.Backward {
		next := *s
		next.Value = without(s.Value, absent)
		d.out.Statements = append(d.out.Statements, &next)
	}
	for _, t := range own {
		d.out.Of[t] = d.p.Grads[t]
	}
}

// without returns n with 0 in place of elements of the tensors in absent.
func without(n *term.Term, absent map[int]bool) *term.Term {
	if len(absent) == 0 {
		return n
	}
	if n.Op == term.Element && absent[n.Read.Tensor] {
		return term.Number(0)
	}
	return n.Map(func(x *term.Term) *term.Term { return without(x, absent) })
}
