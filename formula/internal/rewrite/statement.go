package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Statement is a normalized statement: its only reduction, if any, is its whole value.
type Statement struct {
	Target int
	Left   *term.Read
	Vars   []*term.Variable
	Value  *term.Term
	Add    bool // whether the value is added to the target, whose elements several iterations may share
	// fold is the reduction by which an accumulation combines values, if it is no sum; 0 for a sum. With
	// skip, stores out of bounds are skipped.
	Fold  reduction.Kind
	Skip  bool
	Guard *term.Term
	// lenient says that the value is speculative: it is also evaluated where a guard that was removed is
	// false. Loads out of bounds are then 0.
	Lenient bool
	// parts says that the statement adds the partial sums of a sum, which are few, in float64.
	Parts bool
	// ragged are indices whose ranges depended on other indices. They have constant ranges here. The first
	// conditions of the guard are the original ranges.
	Ragged []*term.Variable
}

// Reduction returns the reduction that is the statement's value. It returns nil if the value is no reduction.
func (s *Statement) Reduction() *term.Reduction {
	if s.Value.Op == term.Reduce {
		return s.Value.Reduction
	}
	return nil
}

// Order returns the argsort or rank that is the statement's value. It returns nil for other values.
func (s *Statement) Order() *term.Reduction {
	if r := s.Reduction(); r != nil && r.IsOrder() && !s.Add && s.Guard == nil {
		return r
	}
	return nil
}

// Scan returns the scan that is the statement's value. It returns nil for other values.
func (s *Statement) Scan() *term.Scan {
	r := s.Reduction()
	if r == nil || s.Add || s.Guard != nil {
		return nil
	}
	if t := r.Scan(); t != nil && slices.Contains(s.Vars, t.Present) && scannable(t, r.Kind) {
		return t
	}
	return nil
}

// Chain returns the chain that is the statement's value. It returns nil for other values.
func (s *Statement) Chain() *term.Chain {
	r := s.Reduction()
	if r == nil || s.Add || s.Guard != nil {
		return nil
	}
	if c := r.Chain(); c != nil && slices.Contains(s.Vars, c.Present) {
		return c
	}
	return nil
}

// Present returns the index of the results of the statement's scan or chain. It returns nil for other
// statements.
func (s *Statement) Present() *term.Variable {
	if t := s.Scan(); t != nil {
		return t.Present
	}
	if c := s.Chain(); c != nil {
		return c.Present
	}
	return nil
}

// Even returns the number of loops outside of the first ragged one.
func (s *Statement) Even() int {
	i := slices.IndexFunc(s.Vars, func(v *term.Variable) bool { return slices.Contains(s.Ragged, v) })
	if i < 0 {
		return len(s.Vars)
	}
	return i
}

// Joined reports whether a statement accumulates by an operation other than addition.
func (s *Statement) Joined() bool {
	return s.Fold != 0 && s.Fold != reduction.Sum && s.Fold != reduction.Count
}

// Mapped returns the statement with f applied to its terms.
func (s *Statement) Mapped(f func(*term.Term) *term.Term) *Statement {
	out := *s
	left := *s.Left
	left.Idx = nil
	for _, x := range s.Left.Idx {
		left.Idx = append(left.Idx, f(x))
	}
	if left.Which != nil {
		left.Which = f(left.Which)
	}
	out.Left, out.Value = &left, f(s.Value)
	if s.Guard != nil {
		out.Guard = f(s.Guard)
	}
	return &out
}

// Walk calls visit for the terms of a statement.
func (s *Statement) Walk(visit func(*term.Term)) {
	s.Value.Walk(visit)
	s.Guard.Walk(visit)
	s.Left.Which.Walk(visit)
	for _, x := range s.Left.Idx {
		x.Walk(visit)
	}
}
