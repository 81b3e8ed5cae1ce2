package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Shared returns the extents of the parallel dimensions that all statements have in common, in the order of
// the first left side. A task may use them as its iteration space, since no statement reads what another
// iteration defines. Scalar statements are ignored, because each iteration can recompute them. A scalar
// result is not ignored: it must be computed even if the iteration space is empty.
func Shared(statements []*program.Statement, result func(tensor int) bool) []*term.Term {
	var loops []*program.Statement
	givenBy := map[int]bool{}
	for _, s := range statements {
		if len(s.Vars) > 0 || s.Value.Reduces() || result(s.Target) {
			loops = append(loops, s)
			givenBy[s.Target] = true
		}
	}
	if len(loops) == 0 {
		return nil
	}
	var out []*term.Term
	for _, v := range loops[0].Vars {
		if v.Hi.Op == term.Symbol && sharedBy(loops, givenBy, v.Hi) {
			out = append(out, v.Hi)
		}
	}
	return out
}

// sharedBy reports whether all statements are parallel over extent: each has exactly one index over it, and
// reads targets of the statements only at that index.
func sharedBy(loops []*program.Statement, given map[int]bool, extent *term.Term) bool {
	axes := map[int]int{} // by target: the position of the extent on the left side
	lefts := map[int]*term.Read{}
	for _, s := range loops {
		at := axis(s, extent)
		if was, ok := axes[s.Target]; at < 0 || s.Add || ok && was != at {
			return false
		}
		axes[s.Target], lefts[s.Target] = at, s.Left
	}
	for _, s := range loops {
		own := s.Left.Idx[axis(s, extent)]
		fine := !ordered(s.Value, own.Var)
		s.Reads(func(r *term.Read) {
			if !given[r.Tensor] {
				return
			}
			at, ok := axes[r.Tensor]
			fine = fine && ok && r.Count == 1 && at < len(r.Idx) && term.Identical(r.Idx[at], own) &&
				slices.EqualFunc(r.Ext, lefts[r.Tensor].Ext, term.SameInteger) // by number among other extents, it is another element
		})
		if !fine {
			return false
		}
	}
	return true
}

// axis returns the position of the only left-side subscript that is an index over all of extent. It returns
// -1 if there is none, or more than one.
func axis(s *program.Statement, extent *term.Term) int {
	over := func(i *term.Term) bool {
		return i.Op == term.Index && i.Var.Lo.Is(0) && i.Var.Hi.Op == term.Symbol && i.Var.Hi.Name == extent.Name
	}
	at := slices.IndexFunc(s.Left.Idx, over)
	if at < 0 || slices.ContainsFunc(s.Left.Idx[at+1:], over) {
		return -1
	}
	return at
}

// ordered reports whether n contains an argsort or a rank that is invariant in v: one sort serves all
// iterations of v.
func ordered(n *term.Term, v *term.Variable) bool {
	found := false
	n.Walk(func(m *term.Term) {
		found = found || m.Op == term.Reduce && m.Reduction.IsOrder() && !m.Reduction.Body.Uses(v)
	})
	return found
}
