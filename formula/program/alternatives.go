package program

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/expr"
)

// alternatives returns an error unless conditions behind `when` leave one definition of each tensor in this
// use, and also one of each output that is there. A weight, a gradient or an intermediate tensor may have
// none. Package check decides the same for conditions on enums, booleans and what is there, for all uses; a
// condition on a number is known in a use only. It returns the statement that has the error.
func (b *builder) alternatives(statements []*expr.Statement) (*expr.Statement, error) {
	conditional := slices.DeleteFunc(slices.Clone(statements), func(s *expr.Statement) bool { return s.When == nil })
	defined := map[string]bool{}
	for _, s := range conditional {
		holds, err := b.when(s)
		if err != nil {
			return s, err
		}
		for _, t := range s.Targets {
			name := nameOf(t)
			if holds && defined[name] {
				return s, fmt.Errorf("%s is defined twice: the condition of a line above holds, too", name)
			}
			defined[name] = defined[name] || holds
		}
	}
	for _, s := range conditional {
		for _, t := range s.Targets {
			name := nameOf(t)
			if sl := b.slots[name]; sl != nil && sl.Output && len(sl.Tensors) > 0 && !defined[name] {
				return s, fmt.Errorf("no line defines %s: want a condition behind when that holds", name)
			}
		}
	}
	return nil, nil
}
