package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// presentLast makes the index of a scan's results the innermost loop, so that the other loops can be shared.
func presentLast(s *Statement) *Statement {
	v := s.Present()
	if v == nil {
		return s
	}
	out := *s
	out.Vars = append(slices.DeleteFunc(slices.Clone(s.Vars), func(w *term.Variable) bool { return w == v }), v)
	return &out
}

// scannable reports whether one pass computes a scan, since the reduction of a prefix is all that results
// behind it need.
func scannable(t *term.Scan, kind reduction.Kind) bool {
	switch kind {
	case reduction.Mean:
		return t.Where != term.Others && t.Guard == nil
	case reduction.LogSumExp:
		return t.Where != term.Others
	}
	return true
}
