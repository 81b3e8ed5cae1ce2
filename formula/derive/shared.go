package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Shared returns the extents of the dimensions that the left sides of all statements share, in the order of
// the first left side: a task may run over them, since no statement reads what another index of them gives.
// Statements without indices and without reductions are left out, since each index can compute them for
// itself, unless they give a result: that is to be computed also where there is no index.
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

// sharedBy reports whether each statement has one index over the extent, at which it reads what the
// statements give.
func sharedBy(loops []*program.Statement, given map[int]bool, extent *term.Term) bool {
	axes := map[int]int{} // where the tensors that statements give have the extent
	for _, s := range loops {
		at := axis(s, extent)
		if was, ok := axes[s.Target]; at < 0 || s.Add || ok && was != at {
			return false
		}
		axes[s.Target] = at
	}
	for _, s := range loops {
		own := s.Left.Idx[axis(s, extent)]
		fine := !ordered(s.Value, own.Var)
		s.Reads(func(r *term.Read) {
			if !given[r.Tensor] {
				return
			}
			at, ok := axes[r.Tensor]
			fine = fine && ok && r.Count == 1 && at < len(r.Idx) && term.Identical(r.Idx[at], own)
		})
		if !fine {
			return false
		}
	}
	return true
}

// axis returns the position on the left side of the index that goes over all of an extent; -1 if there is not
// one such.
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

// ordered reports whether a value looks up the places of an order by an index, which the order itself does
// not depend on: it is worked out once for all places.
func ordered(n *term.Term, v *term.Variable) bool {
	found := false
	n.Walk(func(m *term.Term) {
		found = found || m.Op == term.Reduce && m.Reduction.IsOrder() && !m.Reduction.Body.Uses(v)
	})
	return found
}
