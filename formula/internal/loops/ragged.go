package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// limits are the bounds of an index whose range depends on other indices or on elements of tensors.
type limits struct{ lo, hi *term.Term }

// limit replaces conditions on ragged indices, in the guard, by bounds of their loops.
func (k *unitCompiler[T]) limit() {
	s := *k.bundle.statements[0]
	if s.ragged == nil {
		return
	}
	k.limits = map[*term.Variable]limits{}
	conditions := term.Conjuncts(s.guard)
	for len(conditions) > 0 && k.limitBy(&s, conditions[0]) {
		conditions = conditions[1:]
	}
	s.guard = term.All(conditions...)
	k.bundle.statements[0] = &s
}

// limitBy replaces condition g by a bound of a ragged index. It returns false if g is no such bound, or
// depends on inner indices.
func (k *unitCompiler[T]) limitBy(s *statement, g *term.Term) bool {
	for i, v := range s.vars {
		lo, hi, _ := term.Relation(g, v)
		if !slices.Contains(s.ragged, v) || lo == nil && hi == nil || g.UsesAny(s.vars[i+1:]) {
			continue
		}
		l, ok := k.limits[v]
		if !ok {
			l = limits{v.Lo, v.Hi}
		}
		if lo != nil {
			l.lo = term.Greatest(l.lo, lo)
		}
		if hi != nil {
			l.hi = term.Least(l.hi, hi)
		}
		k.limits[v] = l
		return true
	}
	return false
}

// even returns the number of loops outside of the first ragged one.
func (s *statement) even() int {
	i := slices.IndexFunc(s.vars, func(v *term.Variable) bool { return slices.Contains(s.ragged, v) })
	if i < 0 {
		return len(s.vars)
	}
	return i
}
