package rewrite

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// onePass extracts scans in a larger value into temporaries, since otherwise each iteration of the statement
// would run the whole scan. It returns an error if a nested scan or sort remains.
func (z *normalizer) onePass(s *program.Statement, n *Statement) error {
	from := len(z.out)
	if n.Present() == nil && n.Order() == nil && passes(n.Value) != nil {
		n.Value = z.separated(n)
	}
	for _, x := range append(slices.Clone(z.out[from:]), n) {
		if r := x.remaining(); r != nil && !x.turn() {
			return fmt.Errorf("%s: there are no loops for %s", s, r.Kind)
		}
	}
	return nil
}

// passes returns the first scan or sort in a value, each of which goes through a whole row. It returns nil if
// there is none.
func passes(n *term.Term) *term.Reduction {
	var found *term.Reduction
	n.Walk(func(m *term.Term) {
		if r := m.Reduction; m.Op == term.Reduce && found == nil && (r.IsOrder() || r.Scan() != nil) {
			found = r
		}
	})
	return found
}

// remaining returns a scan or sort for which the statement would have no loops. It returns nil if there is
// none.
func (s *Statement) remaining() *term.Reduction {
	var parts []*term.Term
	switch c := s.Chain(); {
	case s.Scan() != nil || s.Order() != nil:
		parts = []*term.Term{s.Value.Reduction.Body}
	case c != nil && c.Passes(Extent(c.Present)):
		parts = []*term.Term{c.Value, c.X}
	default:
		parts = []*term.Term{s.Value}
	}
	for _, x := range parts {
		if r := passes(x); r != nil {
			return r
		}
	}
	return nil
}

// turn reverses a loop of the statement, if its value then is a scan that loops support: one whose range
// shrinks while the index grows. It returns false if no loop has this effect.
func (s *Statement) turn() bool {
	for i, v := range s.Vars {
		w := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		to := map[*term.Variable]*term.Term{v: term.Difference(term.Number(Extent(v)-1), w.Term())}
		turned := s.Mapped(func(n *term.Term) *term.Term { return inShortForm(n.Substitute(to)) })
		turned.Vars = slices.Concat(s.Vars[:i], []*term.Variable{w}, s.Vars[i+1:])
		if turned.Present() == w && turned.remaining() == nil {
			*s = *presentLast(turned)
			return true
		}
	}
	return false
}

// inShortForm simplifies integer sums in a value, so that (n - 1) - (n - 1 - k) becomes k.
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

// large reports whether a temporary over vars would be larger than all tensors of the task.
func (z *normalizer) large(vars []*term.Variable) bool {
	most := leastLarge
	for _, t := range z.p.Tensors {
		if t.Slot >= 0 {
			most = max(most, Elements(t))
		}
	}
	return Box(vars) > most
}
