package program

import (
	"slices"

	"github.com/opgen/opgen/internal/term"
)

// Recognized returns the element that holds a value, if a statement gives it, or else the value itself.
func (p *Program) Recognized(n *term.Term) *term.Term {
	for _, s := range p.Statements {
		if s.Left.Which != nil || slices.ContainsFunc(s.Left.Idx, func(i *term.Term) bool { return i.Op != term.Index }) {
			continue
		}
		m := term.Match{Values: map[*term.Variable]*term.Term{}, Open: s.Vars}
		if !m.Same(s.Value, n) || !m.Settled() {
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
