package expr

// AxisIn returns an axis attribute that occurs as a number in the expression of an extent, as in 2 * axis, or
// nil. Such an expression is a mistake: an axis is the number of a dimension, and not a size. An axis in a
// subscript, as in X[axis] and X[:axis], is fine.
func AxisIn(n Node) *Ident {
	var parts []Node
	switch n := n.(type) {
	case *Ident:
		if n.Symbol.Axis {
			return n
		}
	case *Unary:
		parts = []Node{n.X}
	case *Binary:
		if n.typ.Kind == Int {
			parts = []Node{n.X, n.Y}
		}
	case *Cond:
		parts = []Node{n.Then, n.Else}
	case *Call:
		switch n.Func {
		case "min", "max", "ceildiv", "or":
			parts = n.Args
		}
	}
	for _, p := range parts {
		if id := AxisIn(p); id != nil {
			return id
		}
	}
	return nil
}
