package emit

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/internal/goname"
)

// fold returns a fold, such as sum(i: prod(X[i])), as Go: a function of the index, called for all of its values.
func (x *exprs) fold(n *expr.Reduce) string {
	id := n.Binders[0].X.(*expr.Ident)
	f := fmt.Sprintf("func(%s int) %s { return %s }", x.e.indexVar(id.Name), goTypes[n.Type().Kind], x.as(n.X, n.Type().Kind))
	of := x.extent(n) + ", " + f
	switch n.Kind {
	case reduction.All, reduction.Any:
		return "shape." + goname.Exported(n.Kind.String()) + "(" + of + ")"
	case reduction.Min, reduction.Max:
		return "r." + goname.Exported(n.Kind.String()) + "(shape.Each(" + of + "))"
	}
	return x.resolver(goname.Exported(n.Kind.String())) + "(shape.Each(" + of + "))"
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
