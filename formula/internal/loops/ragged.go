package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// limits are the bounds of a data-dependent range.
type limits struct{ lo, hi *term.Term }

// limit converts guards on ragged indices to bounds of their loops.
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

// limitBy converts the condition g to a bound of a ragged index; false if g has another form, or depends on
// later indices.
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

// even returns the number of indices before the first ragged one.
func (s *statement) even() int {
	i := slices.IndexFunc(s.vars, func(v *term.Variable) bool { return slices.Contains(s.ragged, v) })
	if i < 0 {
		return len(s.vars)
	}
	return i
}
