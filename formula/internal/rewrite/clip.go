package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// clipped removes conditions that bound one index by constants from the guard of an accumulation, and narrows
// the range of the index instead: iterations that the condition excludes then take no time. A condition that
// would leave an empty range stays.
func clipped(s *Statement) {
	if !s.Add || s.Guard == nil {
		return
	}
	to := map[*term.Variable]*term.Term{}
	var vars []*term.Variable
	conditions := term.Conjuncts(s.Guard)
	all := len(conditions)
	for _, v := range s.Vars {
		lo, known := v.Lo.Known()
		hi, both := v.Hi.Known()
		if !known || !both {
			vars = append(vars, &term.Variable{Name: v.Name, Lo: v.Lo.Substitute(to), Hi: v.Hi.Substitute(to)})
			to[v] = vars[len(vars)-1].Term()
			continue
		}
		first, end := lo, hi
		conditions = slices.DeleteFunc(conditions, func(c *term.Term) bool {
			least, most, _ := term.Relation(c, v)
			switch {
			case least != nil:
				n, known := least.Known()
				if known && n < end {
					first = max(first, n)
					return true
				}
			case most != nil:
				n, known := most.Known()
				if known && n > first {
					end = min(end, n)
					return true
				}
			}
			return false
		})
		w := &term.Variable{Name: v.Name, Lo: term.Number(first), Hi: term.Number(end)}
		to[v] = w.Term()
		vars = append(vars, w)
	}
	if len(conditions) == all {
		return
	}
	left := *s.Left
	left.Which, left.Idx = left.Which.Substitute(to), nil
	for _, x := range s.Left.Idx {
		left.Idx = append(left.Idx, x.Substitute(to))
	}
	s.Vars, s.Left, s.Value, s.Guard = vars, &left, s.Value.Substitute(to), term.All(conditions...).Substitute(to)
}

// unbounded removes bounds checks of gathered subscripts from the guard of an accumulation, if the guard
// checks all subscripts of the target. Loops check such subscripts themselves, and skip elements out of
// bounds.
func (z *normalizer) unbounded(s *Statement) {
	if !s.Add || s.Guard == nil || s.Left.Which != nil || s.Ragged != nil {
		return
	}
	conditions, a := term.Conjuncts(s.Guard), AccessOf(s.Left)
	looked := false
	for d, at := range a.Idx {
		within := Linear(z.ranged(s.Left.Idx[d])).Bounds()
		for _, check := range []struct {
			needless bool
			of       Form // at most 0 in bounds
		}{
			{within.Known && within.Lo >= 0, Form{}.Plus(at, -1)},
			{within.Known && within.Hi < a.Ext[d], at.Plus(Form{Base: a.Ext[d] - 1}, -1)},
		} {
			i := slices.IndexFunc(conditions, func(c *term.Term) bool { return bounds(c, check.of) })
			switch {
			case i >= 0 && len(at.Rest) > 0:
				conditions, looked = slices.Delete(conditions, i, i+1), true
			case i < 0 && !check.needless:
				return
			}
		}
	}
	if looked {
		s.Guard, s.Skip, s.Lenient = term.All(conditions...), true, true
	}
}

// bounds reports whether condition c is equivalent to f <= 0.
func bounds(c *term.Term, f Form) bool {
	if c.Op != term.Less && c.Op != term.AtMost || c.Args[0].Kind != term.Integer || c.Args[1].Kind != term.Integer {
		return false
	}
	difference := differenceOf(c.Args[0], c.Args[1])
	if c.Op == term.Less {
		difference.Base++
	}
	return difference.Same(f)
}
