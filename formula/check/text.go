package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// failf returns an error at a node.
func failf(n expr.Node, code expr.Code, format string, args ...any) *expr.Error {
	return &expr.Error{Pos: n.Pos(), End: n.End(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// plainName removes the marks of indices from a text, for messages.
func plainName(text string) string { return strings.ReplaceAll(text, indexMark, "") }

// source returns the text of a node in the formula, on one line.
func (f *formula) source(n expr.Node) string {
	if n.Pos() < 0 || n.End() > len(f.text) || n.Pos() > n.End() {
		return show(n)
	}
	from, to := n.Pos(), n.End()
	for from > 0 && strings.Count(f.text[from:to], ")") > strings.Count(f.text[from:to], "(") {
		from-- // the first operand may stand in parentheses, which are no part of it
	}
	return strings.Join(strings.Fields(f.text[from:to]), " ")
}

// show writes an expression in a normal form: spaces and redundant parentheses of the source do not matter.
func show(n expr.Node) string {
	switch n := n.(type) {
	case *expr.Lit:
		if s, ok := n.Value.(string); ok {
			return "'" + s + "'"
		}
		return fmt.Sprint(n.Value)
	case *expr.Ident:
		return n.Name
	case *expr.Select:
		return show(n.X) + "." + n.Field
	case *expr.Unary:
		return n.Op + show(n.X)
	case *expr.Binary:
		if n.Op == "^" { // binds more tightly than a sign, and than what stands behind else
			read, _ := n.X.(*expr.Read)
			if _, signed := n.X.(*expr.Unary); signed || read != nil && read.Else != nil {
				return "((" + show(n.X) + ") ^ " + show(n.Y) + ")"
			}
		}
		return "(" + show(n.X) + " " + n.Op + " " + show(n.Y) + ")"
	case *expr.Cond:
		return "(" + show(n.If) + " ? " + show(n.Then) + " : " + show(n.Else) + ")"
	case *expr.Call:
		args := slices.Clone(n.Args)
		for _, a := range n.Named {
			args = append(args, a)
		}
		return n.Func + "(" + showAll(args) + ")"
	case *expr.Named:
		return n.Name + " = " + show(n.X)
	case *expr.Inline:
		if n.Output != "" {
			return show(n.Call) + "." + n.Output + "[" + showAll(n.At) + "]"
		}
		return show(n.Call) + "[" + showAll(n.At) + "]"
	case *expr.Index:
		return show(n.X) + "[" + show(n.I) + "]"
	case *expr.Slice:
		s := ""
		if n.X != nil {
			s = show(n.X) + "[" + showSlice(n) + "]"
		} else {
			s = showSlice(n)
		}
		return s
	case *expr.In:
		if n.Word != "" {
			return "(" + show(n.X) + " in " + n.Word + ")"
		}
		return "(" + show(n.X) + " in [" + showAll(n.List) + "])"
	case *expr.List:
		return "[" + showAll(n.Elems) + "]"
	case *expr.Read:
		s := n.Name
		if n.Old {
			s = "old." + s
		}
		for _, g := range n.Groups {
			s += "[" + showAll(g) + "]"
		}
		if n.Else != nil {
			s += " else " + show(n.Else)
		}
		return s
	case *expr.Number:
		return "#(" + showAll(n.Items) + ")"
	case *expr.Reduce:
		var binders []string
		for _, b := range n.Binders {
			binders = append(binders, show(b))
		}
		s := n.Kind.String() + "(" + strings.Join(binders, ", ")
		if n.If != nil {
			s += " if " + show(n.If)
		}
		if n.X != nil {
			s += ": " + show(n.X)
		}
		if n.Descending {
			s += " descending"
		}
		if n.Kind.Is(reduction.Order) {
			return s + ")[" + showAll(n.At) + "]"
		}
		return s + ")"
	case *expr.Binder:
		s := show(n.X)
		if n.Lo != nil {
			s += " in " + show(n.Lo) + " .. " + show(n.Hi)
		} else if n.Hi != nil {
			s += " < " + show(n.Hi)
		}
		return s
	}
	return ""
}

func showSlice(n *expr.Slice) string {
	s := ":"
	if n.Lo != nil {
		s = show(n.Lo) + s
	}
	if n.Hi != nil {
		s += show(n.Hi)
	}
	return s
}

func showAll(nodes []expr.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, show(n))
	}
	return strings.Join(out, ", ")
}
