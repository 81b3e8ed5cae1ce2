package program

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/formula/expr"
)

// alternatives returns an error unless conditions behind `when` leave one definition of each tensor in this
// use, and also one of each output that is there. A weight, a gradient or an intermediate tensor may have
// none. Package check decides the same for conditions on enums, booleans and what is there, for all uses; a
// condition on a number is known in a use only. It returns the statement that has the error.
func (b *builder) alternatives(statements []*expr.Statement) (*expr.Statement, error) {
	defined, conditional := map[string]bool{}, map[string]*expr.Statement{}
	for _, s := range statements {
		holds, err := b.when(s)
		if err != nil {
			return s, err
		}
		for _, t := range s.Targets {
			name := nameOf(t)
			if s.When != nil && conditional[name] == nil {
				conditional[name] = s
			}
			if holds && s.When != nil && defined[name] {
				return s, fmt.Errorf("%s is defined twice: the condition of a line above holds, too", name)
			}
			defined[name] = defined[name] || holds
		}
	}
	for _, s := range statements {
		for _, t := range s.Targets {
			name := nameOf(t)
			if sl := b.slots[name]; sl != nil && sl.Output && len(sl.Tensors) > 0 && conditional[name] == s && !defined[name] {
				return s, errors.New("no line defines " + name + ": want a condition behind when that holds")
			}
		}
	}
	return nil, nil
}
