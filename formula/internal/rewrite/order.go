package rewrite

import (
	"github.com/opgen/opgen/formula/term"
)

// OrderedFirst makes the indices on which the sort keys depend the outermost loops, and returns how many
// these are. Each row then is sorted once for all values of the other indices.
func OrderedFirst(s *Statement) (*Statement, int) {
	r, out := s.Reduction(), *s
	var outer, inner []*term.Variable
	for _, v := range s.Vars {
		if r.Body.Uses(v) || Reaches(r, v) {
			outer = append(outer, v)
		} else {
			inner = append(inner, v)
		}
	}
	out.Vars = append(outer, inner...)
	return &out, len(outer)
}
