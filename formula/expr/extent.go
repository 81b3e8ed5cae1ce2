package expr

// AxisIn returns an axis attribute whose number would be part of an extent, or nil. The number of a dimension
// says nothing about how many elements there are. Axes that choose a dimension, as in X[axis] and X[:axis],
// are not part of the value.
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
