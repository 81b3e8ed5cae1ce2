package emit

import "github.com/opgen/opgen/internal/expr"

// uses reports whether any part of any of the expressions is as f says.
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

// needsDims is a test, for uses, for what is written with the dimensions d.
func (e *emitter) needsDims(n expr.Node) bool {
	return ofClass(expr.Dim)(n) || isAxis(n) && e.attr(n.(*expr.Ident).Name).Axis.Binds != ""
}

// needsResolution is a test, for uses, for what is written as a call with the resolution r.
func needsResolution(n expr.Node) bool {
	return fallible(n) || ofClass(expr.TypeVar)(n) || ofClass(expr.SlotName)(n)
}

// fallible reports whether an expression may have no value, which makes the resolution fail: a
// dimension, a slice or a shape that does not exist.
func fallible(n expr.Node) bool {
	found := false
	expr.Walk(n, func(m expr.Node) {
		switch m := m.(type) {
		case *expr.Index, *expr.Slice:
			found = true
		case *expr.Call:
			switch m.Func {
			case "broadcast", "keep", "drop", "ones", "insert", "permute":
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
