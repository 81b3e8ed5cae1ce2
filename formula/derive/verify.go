package derive

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// verify checks that statements are well scoped: each index is bound by the left side or by an enclosing
// reduction, and each range depends on indices bound before it.
func verify(statements []*program.Statement) error {
	for _, s := range statements {
		bound, err := ranges(s.Vars, nil)
		for _, n := range append([]*term.Term{s.Guard, s.Value}, s.Left.Idx...) {
			if err == nil {
				err = settled(n, bound)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// ranges appends vars to around, the enclosing indices. It returns an error if a range uses an index that is
// not bound before.
func ranges(vars, around []*term.Variable) ([]*term.Variable, error) {
	bound := slices.Clip(around)
	for _, v := range vars {
		for _, n := range []*term.Term{v.Lo, v.Hi} {
			if err := settled(n, bound); err != nil {
				return nil, fmt.Errorf("the range of %s: %w", v.Name, err)
			}
		}
		bound = append(bound, v)
	}
	return bound, nil
}

// settled returns an error if n uses an index that is not in bound.
func settled(n *term.Term, bound []*term.Variable) error {
	if n == nil {
		return nil
	}
	parts := n.Args
	switch n.Op {
	case term.Index:
		if !slices.Contains(bound, n.Var) {
			return fmt.Errorf("nothing goes over %s", n.Var.Name)
		}
	case term.Element:
		parts = append([]*term.Term{n.Read.Which, n.Read.Else}, n.Read.Idx...)
	case term.Reduce:
		r := n.Reduction
		for _, i := range r.At {
			if err := settled(i, bound); err != nil {
				return err
			}
		}
		var err error
		if bound, err = ranges(r.Vars, bound); err != nil {
			return err
		}
		parts = []*term.Term{r.Guard, r.Body}
	}
	for _, x := range parts {
		if err := settled(x, bound); err != nil {
			return err
		}
	}
	return nil
}
