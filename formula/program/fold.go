package program

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// folds reports whether expression n contains a reduction, such as sum(i: prod(X[i])).
func folds(n expr.Node) bool {
	found := false
	expr.Walk(n, func(m expr.Node) {
		_, ok := m.(*expr.Reduce)
		found = found || ok
	})
	return found
}

// folded returns a reduction of the items of a list as a term, such as a + b + c for a sum. The maximum or
// minimum of an empty list is an error.
func (b *builder) folded(k reduction.Kind, items []*term.Term) (*term.Term, error) {
	if len(items) == 0 {
		if k.Is(reduction.Extreme) {
			return nil, fmt.Errorf("%s: want a list with an element, got an empty one", k)
		}
		return term.Number(k.IntegerIdentity()), nil
	}
	x := items[0]
	for _, y := range items[1:] {
		if op, f := term.JoinOf(k); f == nil {
			if err := b.holds(op, x, y, math.MaxInt); err != nil {
				return nil, err
			}
			x = term.Arithmetic(op, x, y)
		} else {
			x = applied(f, []*term.Term{x, y})
		}
	}
	return x, nil
}
