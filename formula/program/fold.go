package program

import (
	"fmt"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// folds reports whether a fold, such as sum(i: prod(X[i])), occurs in an expression.
func folds(n expr.Node) bool {
	found := false
	expr.Walk(n, func(m expr.Node) {
		_, ok := m.(*expr.Reduce)
		found = found || ok
	})
	return found
}

// extremeOf returns the least or the greatest element of a list.
func extremeOf(name string, items []*term.Term) (value, bool, error) {
	if len(items) == 0 {
		return value{}, true, fmt.Errorf("%s: want a list with an element, got an empty one", name)
	}
	x := items[0]
	for _, y := range items[1:] {
		x = applied(term.Functions[name], []*term.Term{x, y})
	}
	return value{node: x}, true, nil
}
