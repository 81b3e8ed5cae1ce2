package emit

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// uses reports whether f is true for a part of one of the expressions, which may be nil.
func uses(f func(expr.Node) bool, nodes ...expr.Node) bool {
	found := false
	for _, n := range nodes {
		if n != nil {
			expr.Walk(n, func(m expr.Node) { found = found || f(m) })
		}
	}
	return found
}

// ofClass returns a test, for uses, for names of a class.
func ofClass(class expr.Class) func(expr.Node) bool {
	return func(n expr.Node) bool {
		id, ok := n.(*expr.Ident)
		return ok && id.Symbol.Class == class
	}
}

// ofAttr returns a test, for uses, for the name of an attribute.
func ofAttr(name string) func(expr.Node) bool {
	return func(n expr.Node) bool { return ofClass(expr.Attr)(n) && n.(*expr.Ident).Name == name }
}

// fallible reports whether an expression may have no value, such as an index beyond the end of a shape. Then
// the resolution fails.
func (x *exprs) fallible(n expr.Node) bool {
	found := false
	expr.Walk(n, func(m expr.Node) {
		switch m := m.(type) {
		case *expr.Index, *expr.Slice, *expr.GoCall:
			found = true
		case *expr.Unary, *expr.Binary:
			found = found || m.Type().Kind == expr.Int && x.checked(m)
		case *expr.Reduce:
			found = found || !m.Kind.Is(reduction.Truth) || len(m.Over) > 1
		case *expr.Call:
			found = found || m.Fold() != 0
			switch m.Func {
			case "ceil", "broadcast", "keep", "drop", "ones", "insert", "permute":
				found = true
			case "or":
				found = found || isAxis(m.Args[0])
			}
		}
	})
	return found
}

func isAxis(n expr.Node) bool {
	id, ok := n.(*expr.Ident)
	return ok && id.Symbol.Class == expr.Attr && id.Symbol.Axis
}
