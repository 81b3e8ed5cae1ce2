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
func show(n expr.Node) string { return new(printer).show(n) }

// text writes an expression at fr as show does, with the arguments in place of the parameters of functions.
// Equal texts denote equal values where the conditions of both places hold. It is "" where it is longer than
// maxName.
func text(n expr.Node, fr *frame) string {
	p := &printer{fr: fr}
	s := p.show(n)
	if p.long || len(s) > maxName {
		return ""
	}
	return s
}

// printer writes expressions. With a frame it writes arguments in place of parameters, up to maxName bytes.
type printer struct {
	fr      *frame
	written int  // bytes of arguments so far
	long    bool // whether these are too many
}

// name writes a name: an argument if it is that of a parameter.
func (p *printer) name(s string) string {
	a := p.fr.argument(s)
	if a == nil {
		return s
	}
	p.written += len(a.text)
	p.long = p.written > maxName
	return a.text
}

func (p *printer) show(n expr.Node) string {
	if p.long {
		return ""
	}
	switch n := n.(type) {
	case *expr.Lit:
		if s, ok := n.Value.(string); ok {
			return "'" + s + "'"
		}
		return fmt.Sprint(n.Value)
	case *expr.Ident:
		return p.name(n.Name)
	case *expr.Select:
		return show(n.X) + "." + n.Field
	case *expr.Unary:
		return n.Op + p.show(n.X)
	case *expr.Binary:
		if n.Op == "^" { // binds more tightly than a sign, and than what stands behind else
			read, _ := n.X.(*expr.Read)
			if _, signed := n.X.(*expr.Unary); signed || read != nil && read.Else != nil {
				return "((" + p.show(n.X) + ") ^ " + p.show(n.Y) + ")"
			}
		}
		return "(" + p.show(n.X) + " " + n.Op + " " + p.show(n.Y) + ")"
	case *expr.Cond:
		return "(" + p.show(n.If) + " ? " + p.show(n.Then) + " : " + p.show(n.Else) + ")"
	case *expr.Call:
		args := slices.Clone(n.Args)
		for _, a := range n.Named {
			args = append(args, a)
		}
		return n.Func + "(" + p.showAll(args) + ")"
	case *expr.Named:
		return n.Name + " = " + p.show(n.X)
	case *expr.Inline:
		if n.Output != "" {
			return show(n.Call) + "." + n.Output + "[" + p.showAll(n.At) + "]"
		}
		return show(n.Call) + "[" + p.showAll(n.At) + "]"
	case *expr.Index:
		return show(n.X) + "[" + p.show(n.I) + "]"
	case *expr.Slice:
		s := ""
		if n.X != nil {
			s = p.show(n.X) + "[" + p.showSlice(n) + "]"
		} else {
			s = p.showSlice(n)
		}
		return s
	case *expr.In:
		if n.Word != "" {
			return "(" + p.show(n.X) + " in " + n.Word + ")"
		}
		return "(" + p.show(n.X) + " in [" + p.showAll(n.List) + "])"
	case *expr.List:
		return "[" + p.showAll(n.Elems) + "]"
	case *expr.Read:
		s := p.name(n.Name)
		if n.Old {
			s = "old." + s
		}
		for _, g := range n.Groups {
			s += "[" + p.showAll(g) + "]"
		}
		if n.Else != nil {
			s += " else " + p.show(n.Else)
		}
		return s
	case *expr.Number:
		return "#(" + p.showAll(n.Items) + ")"
	case *expr.Reduce:
		var binders []string
		for _, b := range n.Binders {
			binders = append(binders, p.show(b))
		}
		s := n.Kind.String() + "(" + strings.Join(binders, ", ")
		if n.If != nil {
			s += " if " + p.show(n.If)
		}
		if n.X != nil {
			s += ": " + p.show(n.X)
		}
		if n.Descending {
			s += " descending"
		}
		if n.Kind.Is(reduction.Order) {
			return s + ")[" + p.showAll(n.At) + "]"
		}
		return s + ")"
	case *expr.Binder:
		s := p.show(n.X)
		if n.Lo != nil {
			s += " in " + p.show(n.Lo) + " .. " + p.show(n.Hi)
		} else if n.Hi != nil {
			s += " < " + p.show(n.Hi)
		}
		return s
	}
	return ""
}

func (p *printer) showSlice(n *expr.Slice) string {
	s := ":"
	if n.Lo != nil {
		s = p.show(n.Lo) + s
	}
	if n.Hi != nil {
		s += p.show(n.Hi)
	}
	return s
}

func (p *printer) showAll(nodes []expr.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, p.show(n))
	}
	return strings.Join(out, ", ")
}
