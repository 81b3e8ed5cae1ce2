package program

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// settleBefore replaces elements of old.NAME where another tensor has them: a value that is a copy of
// old.NAME, which then comes first, or NAME itself if no statement gives it in this use. Backward may be
// given both, but not what the task has overwritten.
func (p *Program) settleBefore() {
	for t, l := range p.Tensors {
		if l.Old < 0 {
			continue
		}
		to := l.Old
		if i := slices.IndexFunc(p.Statements, func(s *Statement) bool { return p.copies(s, t) }); i < 0 {
			if slices.ContainsFunc(p.Statements, func(s *Statement) bool { return s.Target == l.Old }) {
				continue
			}
			p.Tensors[l.Old].Unchanged = true
		} else {
			s := *p.Statements[i]
			read := *s.Value.Read
			to, s.Value = s.Target, &term.Term{Op: term.Element, Kind: s.Value.Kind, Read: &read}
			p.Statements = slices.Insert(slices.Delete(p.Statements, i, i+1), 0, &s)
		}
		for _, s := range slices.Concat(p.Statements, p.Backward) {
			if s.Target == to && p.copies(s, t) {
				continue
			}
			s.Reads(func(r *term.Read) {
				if r.Tensor == t {
					r.Tensor, r.Text = to, p.Tensors[to].Name
				}
			})
		}
	}
}

// copies reports whether a statement gives all of a tensor as a copy of another one, and is the only one that
// gives it.
func (p *Program) copies(s *Statement, of int) bool {
	x, l := s.Value, p.Tensors[s.Target]
	if x.Op != term.Element || x.Read.Tensor != of || x.Read.Count != 1 || x.Read.ByNumber || s.Left.ByNumber || s.Left.Which != nil || s.Guard != nil || s.Add ||
		s.Recurrence != nil || l.Kind != p.Tensors[of].Kind || l.Slot >= 0 && l.Type != p.Tensors[of].Type || len(x.Read.Idx) != len(l.Shape) || len(s.Left.Idx) != len(l.Shape) || len(s.Vars) != len(l.Shape) {
		return false
	}
	for i, v := range s.Vars {
		if s.Left.Idx[i].Op != term.Index || s.Left.Idx[i].Var != v || x.Read.Idx[i].Op != term.Index || x.Read.Idx[i].Var != v ||
			!v.Lo.Is(0) || !term.SameInteger(v.Hi, l.Shape[i]) || !term.SameInteger(l.Shape[i], p.Tensors[of].Shape[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(p.Statements, func(o *Statement) bool { return o.Target == s.Target && o.Value != x })
}

// Overwritten reports whether a tensor is what another one was before the task, and a statement gives that
// one anew: when backward runs, its elements are gone.
func (p *Program) Overwritten(l *Local) bool { return l.Old >= 0 && p.Tensors[l.Old].Given }

// Before returns the tensor of a slot that tensor t is a copy of, as it was before the task, or -1.
func (p *Program) Before(t int) int {
	for _, s := range p.Statements {
		if s.Target == t && s.Value.Op == term.Element {
			if was := p.Tensors[s.Value.Read.Tensor].Old; was >= 0 && p.copies(s, s.Value.Read.Tensor) {
				return was
			}
		}
	}
	return -1
}
