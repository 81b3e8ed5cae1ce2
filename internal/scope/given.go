package scope

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// GivenExpr is Expr for an expression that is computed before it is known which tensors the operator has.
func (sc *Scope) GivenExpr(s spec.Str, want expr.Kind) {
	if !s.Set() {
		return
	}
	if n := sc.givenAt(s.Node, s.V, 0, want); n != nil {
		sc.typed[s.Node] = n
	}
}

// givenAt is exprAt for an expression that is computed before it is known which tensors the operator has.
func (sc *Scope) givenAt(at *source.Scalar, text string, offset int, want expr.Kind) expr.Node {
	n := sc.exprAt(at, text, offset, want)
	if n == nil {
		return nil
	}
	if err := sc.givenOnly(n); err != nil {
		sc.report(at, offset, err)
		return nil
	}
	return n
}

// givenOnly checks that an expression asks only for the presence and the number of tensors about which the
// caller decides. All others follow from expressions, which may be computed after this one.
func (sc *Scope) givenOnly(n expr.Node) *expr.Error {
	var found *expr.Error
	expr.Walk(n, func(n expr.Node) {
		call, ok := n.(*expr.Call)
		if !ok || found != nil || call.Func != "present" && call.Func != "count" || len(call.Args) != 1 {
			return
		}
		id, ok := call.Args[0].(*expr.Ident)
		if !ok {
			return
		}
		i := slices.IndexFunc(sc.Spec.Slots, func(s *spec.Slot) bool { return s.Name == id.Name })
		if i < 0 {
			return
		}
		s := sc.Spec.Slots[i]
		switch {
		case s.Role.V == "input", s.Role.V == "output" && s.Present.V == "caller", s.Asked():
			return
		case s.Variadic != nil && s.Variadic.Count.Set():
			found = &expr.Error{Hint: fmt.Sprintf("its number is %s", s.Variadic.Count.V)}
		case s.Present.Set():
			found = &expr.Error{Hint: fmt.Sprintf("it is there if %s", s.Present.V)}
		default:
			found = &expr.Error{Hint: "it is always there"}
		}
		found.Pos, found.End, found.Code = id.Pos(), id.End(), expr.BadType
		found.Message = fmt.Sprintf("the caller does not decide about %s, so its tensors are not known here", s.Name)
	})
	return found
}
