package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// limits are the bounds of an index whose range depends on other indices or on elements of tensors.
type limits struct{ lo, hi *term.Term }

// limit replaces conditions on ragged indices, in the guard, by bounds of their loops.
func (k *unitCompiler[T]) limit() {
	s := *k.bundle.statements[0]
	if s.Ragged == nil {
		return
	}
	k.limits = map[*term.Variable]limits{}
	conditions := term.Conjuncts(s.Guard)
	for len(conditions) > 0 && k.limitBy(&s, conditions[0]) {
		conditions = conditions[1:]
	}
	s.Guard = term.All(conditions...)
	k.bundle.statements[0] = &s
}

// limitBy replaces condition g by a bound of a ragged index. It returns false if g is no such bound, or
// depends on inner indices.
func (k *unitCompiler[T]) limitBy(s *rewrite.Statement, g *term.Term) bool {
	for i, v := range s.Vars {
		lo, hi, _ := term.Relation(g, v)
		if !slices.Contains(s.Ragged, v) || lo == nil && hi == nil || g.UsesAny(s.Vars[i+1:]) {
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
