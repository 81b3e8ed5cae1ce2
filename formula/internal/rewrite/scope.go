package rewrite

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Scoped returns an error if a statement uses an index out of scope: outside of the reduction that binds it,
// or in the range of an earlier index.
func Scoped(p *program.Program, target int, left *term.Read, vars []*term.Variable, values ...*term.Term) error {
	var bound []*term.Variable
	var free *term.Variable
	note := func(v *term.Variable) {
		if free == nil {
			free = v
		}
	}
	for _, v := range vars {
		unbound(v.Lo, bound, note)
		unbound(v.Hi, bound, note)
		bound = append(bound, v)
	}
	for _, n := range slices.Concat([]*term.Term{left.Which}, left.Idx, values) {
		unbound(n, bound, note)
	}
	if free != nil {
		return fmt.Errorf("%s: the index %s is used outside of its range", p.Tensors[target].Name, free.Name)
	}
	return nil
}

// unbound calls visit for each use of an index in n that neither n nor bound binds.
func unbound(n *term.Term, bound []*term.Variable, visit func(*term.Variable)) {
	switch {
	case n == nil:
		return
	case n.Op == term.Index && !slices.Contains(bound, n.Var):
		visit(n.Var)
	}
	for _, a := range n.Args {
		unbound(a, bound, visit)
	}
	if r := n.Read; r != nil {
		for _, i := range r.Idx {
			unbound(i, bound, visit)
		}
		unbound(r.Which, bound, visit)
		unbound(r.Else, bound, visit)
	}
	if r := n.Reduction; r != nil {
		for _, x := range r.At {
			unbound(x, bound, visit)
		}
		bound = slices.Clip(bound)
		for _, v := range r.Vars {
			unbound(v.Lo, bound, visit)
			unbound(v.Hi, bound, visit)
			bound = append(bound, v)
		}
		unbound(r.Guard, bound, visit)
		unbound(r.Body, bound, visit)
		unbound(r.Number, bound, visit)
	}
}
