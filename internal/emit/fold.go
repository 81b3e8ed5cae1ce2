package emit

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/internal/goname"
)

// fold returns a fold, such as sum(i: prod(X[i])), as Go: a function of the index, called for all of its
// values.
func (x *exprs) fold(n *expr.Reduce) string {
	id := n.Binders[0].X.(*expr.Ident)
	f := fmt.Sprintf("func(%s int) %s { return %s }", x.e.indexVar(id.Name), goTypes[n.Type().Kind], x.as(n.X, n.Type().Kind))
	of := x.extent(n) + ", " + f
	if n.Kind.Is(reduction.Truth) {
		return "shape." + goname.Exported(n.Kind.String()) + "(" + of + ")"
	}
	return x.folded(n.Kind) + "(shape.Each(" + of + "))"
}

// folded returns the Go function of a list that a reduction of its elements is. An extreme of no elements
// fails.
func (x *exprs) folded(kind reduction.Kind) string {
	name := goname.Exported(kind.String())
	if kind.Is(reduction.Extreme) {
		return "r." + name
	}
	return x.resolver(name)
}

// extent returns how many values the index of a fold has, as Go.
func (x *exprs) extent(n *expr.Reduce) string {
	if hi := n.Binders[0].Hi; hi != nil {
		return x.code(hi, 0)
	}
	var lengths []string
	for _, list := range n.Over {
		lengths = append(lengths, "len("+x.code(list, 0)+")")
	}
	if len(lengths) == 1 {
		return lengths[0]
	}
	return "r.Common(" + strings.Join(lengths, ", ") + ")"
}

// indexVar returns the name of the Go variable for an index of an expression.
func (e *emitter) indexVar(name string) string { return local(name, e.taken()...) }
