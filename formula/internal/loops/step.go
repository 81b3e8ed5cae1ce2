package loops

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// stepsOf returns the number of values of a recurrence's index. It returns an error if its statements have
// different ranges.
func stepsOf(block []*program.Statement) (int, error) {
	n, known := block[0].Over.Hi.Known()
	for _, s := range block {
		if hi, same := s.Over.Hi.Known(); !known || !same || hi != n || !s.Over.Lo.Is(0) {
			return 0, fmt.Errorf("%s: there is no code for a recurrence over several ranges", s)
		}
	}
	return max(n, 0), nil
}

// step returns the statements of a recurrence at one value of its index, over. more may change the indices of
// a statement, and adds to to what replaces them. step returns an error if a range depends on the
// recurrence's index.
func step(block []*program.Statement, over *term.Variable, more func(s *program.Statement, to map[*term.Variable]*term.Term)) (out []*program.Statement, err error) {
	for _, s := range block {
		to := map[*term.Variable]*term.Term{s.Over: over.Term()}
		m, left := *s, *s.Left
		m.Recurrence, m.Over, m.Left = nil, nil, &left
		m.Vars = slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return v == s.Over })
		for _, v := range m.Vars {
			if v.Lo.Uses(s.Over) || v.Hi.Uses(s.Over) {
				return nil, fmt.Errorf("%s: there is no code for a range that depends on the index of a recurrence", s)
			}
		}
		more(&m, to)
		m.Value, m.Guard, left.Idx = s.Value.Substitute(to), s.Guard.Substitute(to), nil
		for _, x := range s.Left.Idx {
			left.Idx = append(left.Idx, x.Substitute(to))
		}
		out = append(out, &m)
	}
	return out, nil
}

// rowOf returns an index over independent rows, or nil: it is the outermost index of all statements of a
// recurrence, after that of the recurrence, and they read each other only at the same value of it. Workers
// may then divide its values. The name of the index is unique.
func rowOf(block []*program.Statement) *term.Variable {
	vars := func(s *program.Statement) []*term.Variable {
		return slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return v == s.Over })
	}
	place := map[int]int{} // by tensor: where the index stands
	for _, s := range block {
		own := vars(s)
		if len(own) == 0 || s.Left.ByNumber {
			return nil
		}
		at := slices.IndexFunc(s.Left.Idx, func(x *term.Term) bool { return x.Op == term.Index && x.Var == own[0] })
		if at < 0 || !own[0].Lo.Is(0) || rewrite.Extent(own[0]) != rewrite.Extent(vars(block[0])[0]) || rewrite.Extent(own[0]) < 2 || rewrite.IsOpen(own[0]) ||
			slices.ContainsFunc(s.Left.Idx[at+1:], func(x *term.Term) bool { return x.Uses(own[0]) }) {
			return nil
		}
		place[s.Target] = at
	}
	fine := true
	for _, s := range block {
		own := vars(s)[0]
		s.Reads(func(r *term.Read) {
			for k := range r.Count {
				if at, is := place[r.Tensor+k]; is {
					fine = fine && !r.ByNumber && at < len(r.Idx) && r.Idx[at].Op == term.Index && r.Idx[at].Var == own
				}
			}
		})
	}
	if !fine {
		return nil
	}
	v := vars(block[0])[0]
	return &term.Variable{Name: v.Name + "*", Lo: v.Lo, Hi: v.Hi}
}

// rowsAt returns, by statement, the index of rows that are independent in a recurrence: statements read each
// other only at the same value of it. For the first statement it is subscript at of the target. It returns
// nil if there is no such index.
func rowsAt(block []*program.Statement, at int) map[*program.Statement]*term.Variable {
	place := map[int]int{block[0].Target: at} // by tensor: where the index stands
	own := map[*program.Statement]*term.Variable{}
	inside := map[int]bool{}
	for _, s := range block {
		inside[s.Target] = true
	}
	plain := func(r *term.Read, at int) *term.Variable {
		if r.ByNumber || r.Which != nil || at >= len(r.Idx) || r.Idx[at].Op != term.Index {
			return nil
		}
		return r.Idx[at].Var
	}
	for range block { // what a statement knows says where the index stands in what it reads
		for _, s := range block {
			at, known := place[s.Target]
			if !known {
				continue
			}
			v := plain(s.Left, at)
			if v == nil || v == s.Over || !slices.Contains(s.Vars, v) || !v.Lo.Is(0) || rewrite.IsOpen(v) {
				return nil
			}
			for i, x := range s.Left.Idx {
				if i != at && x.Uses(v) {
					return nil
				}
			}
			own[s] = v
			s.Reads(func(r *term.Read) {
				if _, known := place[r.Tensor]; !known && inside[r.Tensor] {
					if i := slices.IndexFunc(r.Idx, func(x *term.Term) bool { return x.Op == term.Index && x.Var == v }); i >= 0 {
						place[r.Tensor] = i
					}
				}
			})
		}
	}
	for _, s := range block {
		v := own[s]
		if v == nil || rewrite.Extent(v) != rewrite.Extent(own[block[0]]) {
			return nil
		}
		for _, w := range s.Vars {
			if w != v && (w.Lo.Uses(v) || w.Hi.Uses(v)) {
				return nil
			}
		}
		fine := true
		s.Reads(func(r *term.Read) {
			for k := range r.Count {
				if inside[r.Tensor+k] {
					fine = fine && r.Count == 1 && plain(r, place[r.Tensor]) == v
				}
			}
		})
		if !fine {
			return nil
		}
	}
	return own
}

// reachOf returns how far before and behind the current value of a recurrence's index its statements read at
// constant distances. At the first and the last values of the index such reads may be out of bounds.
func reachOf(block []*program.Statement) (before, behind int) {
	for _, s := range block {
		visit := func(x *term.Term) {
			if d, known := term.Norm(term.Difference(x, s.Over.Term())).Known(); known && max(d, -d) <= mostReach {
				before, behind = max(before, -d), max(behind, d)
			}
		}
		s.Reads(func(r *term.Read) {
			for _, x := range r.Idx {
				visit(x)
			}
		})
		s.Value.Walk(func(n *term.Term) {
			if (n.Op == term.Less || n.Op == term.AtMost || n.Op == term.Equal) && n.Args[0].Kind == term.Integer && n.Args[1].Kind == term.Integer {
				visit(n.Args[0])
				visit(n.Args[1])
			}
		})
	}
	return before, behind
}
