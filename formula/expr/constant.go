package expr

import (
	"go/constant"
	gotoken "go/token"
	"math"
)

// Constants are folded exactly, as the Go compiler does for constant expressions in generated code. The
// compiler rejects a constant that overflows its type, so Check must report it. Generated code must also
// compile where int has 32 bits.

// constantOf returns the value of a numeric constant expression whose operands are folded already. It returns
// nil if the expression is not constant.
func constantOf(n Node) constant.Value {
	switch n := n.(type) {
	case *Lit:
		switch v := n.Value.(type) {
		case int64:
			return constant.MakeInt64(v)
		case float64:
			return constant.MakeFloat64(v)
		}
	case *Unary:
		if x := n.X.(node).parsed().value; x != nil && n.Op == "-" {
			return constant.UnaryOp(gotoken.SUB, x, 0)
		}
	case *Binary:
		return constantBinary(n)
	case *Call:
		return constantExtreme(n)
	}
	return nil
}

func constantBinary(n *Binary) constant.Value {
	x, y := n.X.(node).parsed().value, n.Y.(node).parsed().value
	op, ok := map[string]gotoken.Token{"+": gotoken.ADD, "-": gotoken.SUB, "*": gotoken.MUL, "/": gotoken.QUO}[n.Op]
	if x == nil || y == nil || !ok {
		return nil
	}
	if op == gotoken.QUO && (n.typ.Kind != Float || constant.Sign(y) == 0) {
		return nil // generated code divides integers at run time
	}
	return constant.BinaryOp(x, op, y)
}

// constantExtreme folds min or max of constants.
func constantExtreme(n *Call) constant.Value {
	op := map[string]gotoken.Token{"min": gotoken.LSS, "max": gotoken.GTR}[n.Func]
	if op == gotoken.ILLEGAL || len(n.Args) < 2 {
		return nil
	}
	var best constant.Value
	for _, a := range n.Args {
		v := a.(node).parsed().value
		if v == nil {
			return nil
		}
		if best == nil || constant.Compare(v, op, best) {
			best = v
		}
	}
	return best
}

// foldConstant stores the value of a constant expression, and reports one that overflows its type.
func foldConstant(n Node, t Type) *Error {
	v := constantOf(n)
	if v == nil {
		return nil
	}
	n.(node).parsed().value = v
	switch t.Kind {
	case Int:
		if i, exact := constant.Int64Val(constant.ToInt(v)); !exact || i > math.MaxInt32 || i < math.MinInt32 {
			return errorf(n, BadType, "this constant does not fit an integer of 32 bits")
		}
	case Float:
		if f, _ := constant.Float64Val(v); math.IsInf(f, 0) {
			return errorf(n, BadType, "this constant does not fit a float of 64 bits")
		}
	}
	return nil
}
