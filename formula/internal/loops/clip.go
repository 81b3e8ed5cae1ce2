package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// clipped moves conditions that bound one index by constants from the guard of an accumulation into the range
// of the index: what such a condition leaves out takes no time. A range stays where nothing would be left.
func clipped(s *statement) {
	if !s.add || s.guard == nil {
		return
	}
	to := map[*term.Variable]*term.Term{}
	var vars []*term.Variable
	conditions := term.Conjuncts(s.guard)
	all := len(conditions)
	for _, v := range s.vars {
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
	left := *s.left
	left.Which, left.Idx = left.Which.Substitute(to), nil
	for _, x := range s.left.Idx {
		left.Idx = append(left.Idx, x.Substitute(to))
	}
	s.vars, s.left, s.value, s.guard = vars, &left, s.value.Substitute(to), term.All(conditions...).Substitute(to)
}
