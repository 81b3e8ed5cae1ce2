package expr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/runtime/dtype"
)

// maxDepth bounds nesting, and maxLength the source in bytes, so that no input overflows the stack.
const (
	maxDepth  = 100
	maxLength = 1 << 14
)

// Parse parses an expression.
//
//	expr   = or [ "?" expr ":" expr ]
//	or     = and { "||" and }
//	and    = cmp { "&&" cmp }
//	cmp    = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum | [ "not" ] "in" ( list | word ) ]
//	sum    = term { ( "+" | "-" ) term }
//	term   = unary { ( "*" | "/" | "%" ) unary }
//	unary  = ( "-" | "!" ) unary | postfix
//	postfix = primary { "[" expr "]" | "[" [ expr ] ":" [ expr ] "]" | "." name }
//	primary = number | 'string' | "true" | "false" | name | name "(" args ")" | "(" expr ")" | list
//	        | fold "(" name [ "<" sum ] ":" expr ")"
//
// / is floor division, and % has the sign of the divisor. ParseFormula describes the further syntax of
// formulas.
func Parse(text string) (Node, *Error) {
	if len(text) > maxLength {
		return nil, &Error{Pos: 0, End: len(text), Code: BadSyntax, Message: fmt.Sprintf("the expression is longer than %d bytes", maxLength)}
	}
	p := &parser{text: text}
	p.next()
	if p.tok.kind == tokEOF {
		return nil, &Error{Pos: 0, End: len(text), Code: BadSyntax, Message: "want an expression, got nothing"}
	}
	n, err := p.expr()
	if err == nil && p.tok.kind != tokEOF {
		err = p.unexpected("the end of the expression")
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (p *parser) is(op string) bool { return p.tok.kind == tokOp && p.tok.text == op }

func (p *parser) accept(op string) bool {
	if p.is(op) {
		p.next()
		return true
	}
	return false
}

func (p *parser) unexpected(want string) *Error {
	got := "the end"
	switch p.tok.kind {
	case tokBad:
		got = fmt.Sprintf("%q", p.tok.text)
		if strings.HasPrefix(p.tok.text, "'") {
			got = "a string without an end"
		}
	case tokOp:
		got = strconv.Quote(p.tok.text)
	case tokInt, tokFloat, tokString, tokName:
		got = p.tok.text
	}
	err := &Error{Pos: p.tok.pos, End: max(p.tok.end, p.tok.pos), Code: BadSyntax, Message: fmt.Sprintf("want %s, got %s", want, got)}
	if p.tok.kind != tokEOF {
		err.Hint = habit(p.text, p.tok.pos)
	}
	return err
}

func (p *parser) expect(op string) *Error {
	if !p.accept(op) {
		return p.unexpected(strconv.Quote(op))
	}
	return nil
}

func (p *parser) expr() (Node, *Error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &Error{Pos: p.tok.pos, End: p.tok.end, Code: BadSyntax, Message: "the expression is nested too deeply"}
	}
	defer func() { p.depth-- }()
	c, err := p.binary(0)
	if err != nil || !p.accept("?") {
		return c, err
	}
	then, err := p.expr()
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	els, err := p.expr()
	if err != nil {
		return nil, err
	}
	return &Cond{base{pos: c.Pos(), end: els.End()}, c, then, els}, nil
}

var levels = [][]string{{"||"}, {"&&"}, {"==", "!=", "<=", ">=", "<", ">", "in", "not"}, {"+", "-"}, {"*", "/", "%"}}

// additive is the precedence level of + and -.
const additive = 3

func (p *parser) binary(level int) (Node, *Error) {
	if level == len(levels) {
		return p.unary()
	}
	x, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		op := ""
		for _, o := range levels[level] {
			if p.is(o) || p.tok.kind == tokName && p.tok.text == o {
				op = o
			}
		}
		if op == "" {
			return x, nil
		}
		if level == 2 && !first {
			return nil, &Error{Pos: p.tok.pos, End: p.tok.end, Code: BadSyntax, Message: "comparisons cannot be chained", Hint: "combine them with &&"}
		}
		p.next()
		if op == "not" || op == "in" {
			if op == "not" {
				if p.tok.kind != tokName || p.tok.text != "in" {
					return nil, p.unexpected(`"in"`)
				}
				p.next()
			}
			in, err := p.among(x)
			if err != nil {
				return nil, err
			}
			x = in
			if op == "not" {
				x = &Unary{base{pos: in.pos, end: in.end}, "!", in}
			}
			continue
		}
		y, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		x = &Binary{base{pos: x.Pos(), end: y.End()}, op, x, y}
	}
}

// among parses the right operand of in: a list, or a word that denotes several element types.
func (p *parser) among(x Node) (*In, *Error) {
	if types := dtype.Named(p.tok.text); p.tok.kind == tokName && types != nil {
		at := base{pos: p.tok.pos, end: p.tok.end}
		in := &In{base: base{pos: x.Pos(), end: at.end}, X: x, Word: p.tok.text, At: at.pos}
		for _, t := range types {
			in.List = append(in.List, &Lit{at, t.String()})
		}
		p.next()
		return in, nil
	}
	if !p.is("[") {
		return nil, p.unexpected("a list, or a word for element types such as floating")
	}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	return &In{base: base{pos: x.Pos(), end: l.End()}, X: x, List: l.(*List).Elems}, nil
}

func (p *parser) unary() (Node, *Error) {
	if p.is("-") || p.is("!") {
		if p.depth++; p.depth > maxDepth {
			return nil, &Error{Pos: p.tok.pos, End: p.tok.end, Code: BadSyntax, Message: "the expression is nested too deeply"}
		}
		defer func() { p.depth-- }()
		op, pos := p.tok.text, p.tok.pos
		p.next()
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &Unary{base{pos: pos, end: x.End()}, op, x}, nil
	}
	if p.formula {
		return p.power()
	}
	return p.postfix()
}

func (p *parser) postfix() (Node, *Error) {
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	for links := 0; ; links++ {
		if links > maxDepth {
			return nil, &Error{Pos: p.tok.pos, End: p.tok.end, Code: BadSyntax, Message: "the expression is nested too deeply"}
		}
		switch {
		case !p.formula && p.accept("["):
			var lo, hi Node
			if !p.is(":") {
				if lo, err = p.expr(); err != nil {
					return nil, err
				}
			}
			if !p.accept(":") {
				end := p.tok.end
				if err := p.expect("]"); err != nil {
					return nil, err
				}
				x = &Index{base{pos: x.Pos(), end: end}, x, lo}
				continue
			}
			if !p.is("]") {
				if hi, err = p.expr(); err != nil {
					return nil, err
				}
			}
			end := p.tok.end
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			x = &Slice{base{pos: x.Pos(), end: end}, x, lo, hi}
		case p.accept("."):
			if p.tok.kind != tokName {
				return nil, p.unexpected("the name of a field")
			}
			x = &Select{base{pos: x.Pos(), end: p.tok.end}, x, p.tok.text, p.tok.pos}
			p.next()
		default:
			return x, nil
		}
	}
}

func (p *parser) list() (Node, *Error) {
	pos := p.tok.pos
	p.next()
	l := &List{}
	for !p.is("]") {
		e, err := p.expr()
		if err != nil {
			return nil, err
		}
		l.Elems = append(l.Elems, e)
		if !p.is("]") && !p.accept(",") {
			return nil, p.unexpected(`"," or "]"`)
		}
	}
	l.base = base{pos: pos, end: p.tok.end}
	p.next()
	return l, nil
}

func (p *parser) primary() (Node, *Error) {
	t := p.tok
	b := base{pos: t.pos, end: t.end}
	switch t.kind {
	case tokInt:
		v, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil || v > math.MaxInt32 {
			return nil, &Error{Pos: t.pos, End: t.end, Code: BadSyntax, Message: fmt.Sprintf("want an integer below 2147483648, got %s", t.text)}
		}
		p.next()
		return &Lit{b, v}, nil
	case tokFloat:
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, &Error{Pos: t.pos, End: t.end, Code: BadSyntax, Message: fmt.Sprintf("%s is too large", t.text)}
		}
		p.next()
		return &Lit{b, v}, nil
	case tokString:
		p.next()
		return &Lit{b, t.text[1 : len(t.text)-1]}, nil
	case tokName:
		p.next()
		switch {
		case t.text == "true" || t.text == "false":
			return &Lit{b, t.text == "true"}, nil
		case t.text == "in" || t.text == "not" || p.formula && slices.Contains(formulaWords, t.text):
			return nil, &Error{Pos: t.pos, End: t.end, Code: BadSyntax, Message: "want a value, got " + t.text, Hint: habit(p.text, t.pos)}
		}
		if p.formula {
			return p.named(t)
		}
		switch {
		case !p.is("("):
			return &Ident{base: b, Name: t.text}, nil
		case reduction.Of(t.text) != 0 && p.isReduction():
			return p.reduction(t.pos, reduction.Of(t.text))
		}
		return p.call(t.pos, t.text)
	case tokOp:
		switch t.text {
		case "(":
			p.next()
			x, err := p.expr()
			if err != nil {
				return nil, err
			}
			end := p.tok.end
			if err := p.expect(")"); err != nil {
				return nil, err
			}
			b := x.(node).parsed()
			b.pos, b.end = t.pos, end
			return x, nil
		case "[":
			return p.list()
		case "#":
			return p.number()
		}
	}
	return nil, p.unexpected("a value")
}

// call parses the arguments of a function.
func (p *parser) call(pos int, name string) (Node, *Error) {
	p.next()
	c := &Call{Func: name}
	for !p.is(")") {
		if err := p.argument(c); err != nil {
			return nil, err
		}
		if !p.is(")") && !p.accept(",") {
			return nil, p.unexpected(`"," or ")"`)
		}
	}
	c.base = base{pos: pos, end: p.tok.end}
	p.next()
	return c, nil
}
