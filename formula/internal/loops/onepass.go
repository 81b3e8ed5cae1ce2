package loops

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// leastLarge is how many elements a tensor has at least that is too large for a scan within a reduction, if
// none of the task is larger.
const leastLarge = 1 << 12

// onePass gives scans that are parts of a statement's value tensors of their own, since loops over the
// statement's indices would go through all elements for each of them. s is the statement of the program. It
// is an error if scans or orders remain.
func (z *normalizer) onePass(s *program.Statement, n *statement) error {
	from := len(z.out)
	if n.present() == nil && n.order() == nil && passes(n.value) != nil {
		n.value = z.separated(n)
	}
	for _, x := range append(slices.Clone(z.out[from:]), n) {
		if r := x.remaining(); r != nil && !x.turn() {
			return fmt.Errorf("%s: there are no loops for %s", s, r.Kind)
		}
	}
	return nil
}

// passes returns an order or a scan that is a part of a value; nil if there is none.
func passes(n *term.Term) *term.Reduction {
	var found *term.Reduction
	n.Walk(func(m *term.Term) {
		if r := m.Reduction; m.Op == term.Reduce && found == nil && (r.IsOrder() || r.Scan() != nil) {
			found = r
		}
	})
	return found
}

// remaining returns an order or a scan in a statement for which there are no loops; nil if there is none.
func (s *statement) remaining() *term.Reduction {
	var parts []*term.Term
	switch c := s.chain(); {
	case s.scan() != nil || s.order() != nil:
		parts = []*term.Term{s.value.Reduction.Body}
	case c != nil && c.Passes(extent(c.Present)):
		parts = []*term.Term{c.Value, c.X}
	default:
		parts = []*term.Term{s.value}
	}
	for _, x := range parts {
		if r := passes(x); r != nil {
			return r
		}
	}
	return nil
}

// turn makes a statement go over an index from the last value to the first, if loops can give it then: those
// of a scan whose range shrinks while the index grows. It returns false if there are no such loops.
func (s *statement) turn() bool {
	for i, v := range s.vars {
		w := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		to := map[*term.Variable]*term.Term{v: term.Difference(term.Number(extent(v)-1), w.Term())}
		turned := s.mapped(func(n *term.Term) *term.Term { return inShortForm(n.Substitute(to)) })
		turned.vars = slices.Concat(s.vars[:i], []*term.Variable{w}, s.vars[i+1:])
		if turned.present() == w && turned.remaining() == nil {
			*s = *presentLast(turned)
			return true
		}
	}
	return false
}

// inShortForm returns a value in which sums of integers have their shortest form.
func inShortForm(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	m := n.Map(inShortForm)
	if m.Kind == term.Integer && (m.Op == term.Add || m.Op == term.Subtract) {
		return term.Norm(m)
	}
	return m
}

// large reports whether a tensor over indices would be larger than those of the task.
func (z *normalizer) large(vars []*term.Variable) bool {
	most := leastLarge
	for _, t := range z.p.Tensors {
		if t.Slot >= 0 {
			most = max(most, elements(t))
		}
	}
	return box(vars) > most
}
