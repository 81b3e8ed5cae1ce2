package mapping

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Expr is an expression: integers, floats, 'strings', true, false, lists, names, c ? x : y, ||, &&, !,
// comparisons, in, arithmetic, x[i], x[i:j] and functions. Arithmetic with a list goes element by element.
type Expr struct {
	*term
	names []string
}

// Names returns the names that the expression reads, without those of functions.
func (x *Expr) Names() []string { return x.names }

// Eval computes the expression. A value is an int, a float64, a bool, a string, a list of integers, floats or
// strings, or nil for what is absent. lookup gives values to names, and call computes functions of tensors,
// such as shape(x), from the name of the function and that of the tensor.
func (x *Expr) Eval(lookup func(name string) any, call func(function, name string) (any, error)) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = e.err
		}
	}()
	return x.eval(&scope{lookup, call}), nil
}

type scope struct {
	lookup func(string) any
	call   func(function, name string) (any, error)
}

// failure is the error of an evaluation, as a panic that Eval catches.
type failure struct{ err error }

func fail(format string, args ...any) any { panic(failure{fmt.Errorf(format, args...)}) }

// parser parses an expression, of which it has the tokens.
type parser struct {
	text   string
	tokens []string
	names  []string
	depth  int
}

// maxDepth bounds how deep expressions are nested.
const maxDepth = 50

// Parse parses an expression.
func Parse(text string) (x *Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(failure)
			if !ok {
				panic(r)
			}
			x, err = nil, e.err
		}
	}()
	p := &parser{text: text}
	p.lex()
	t := p.expr()
	if len(p.tokens) > 0 {
		p.fail("an operator", p.tokens[0])
	}
	return &Expr{t, p.names}, nil
}

func (p *parser) fail(want, got string) {
	if got == "" {
		got = "the end"
	}
	fail("expression %s: want %s, got %s", p.text, want, got)
}

// lex cuts the text into tokens.
func (p *parser) lex() {
	rest := p.text
	for {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest == "" {
			return
		}
		n := 1
		switch c := rune(rest[0]); {
		case c == '\'':
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				p.fail("a quote behind", rest)
			}
			n = end + 2
		case isWord(c):
			n = len(rest) - len(strings.TrimLeftFunc(rest, func(c rune) bool { return isWord(c) || c == '.' }))
			if i := strings.IndexAny(rest[:n], "eE"); c >= '0' && c <= '9' && i == n-1 && n < len(rest) && strings.ContainsRune("+-", rune(rest[n])) {
				n++
				n += len(rest[n:]) - len(strings.TrimLeft(rest[n:], "0123456789"))
			}
		case len(rest) > 1 && slices.Contains([]string{"||", "&&", "==", "!=", "<=", ">="}, rest[:2]):
			n = 2
		}
		p.tokens = append(p.tokens, rest[:n])
		rest = rest[n:]
	}
}

func isWord(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// take takes the next token if it is one of those given.
func (p *parser) take(tokens ...string) string {
	if len(p.tokens) == 0 || !slices.Contains(tokens, p.tokens[0]) {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) need(token string) {
	if p.take(token) == "" {
		got := ""
		if len(p.tokens) > 0 {
			got = p.tokens[0]
		}
		p.fail(token, got)
	}
}

// term is an expression, or a part of one. solve looks for values of names with which it has a wanted value,
// see Search; it is nil if the term has a value only if all its names have.
type term struct {
	eval  func(*scope) any
	solve func(x *solver, want any, then func() bool) bool
}

func (p *parser) expr() *term {
	if p.depth++; p.depth > maxDepth {
		p.fail("fewer brackets", "more than "+strconv.Itoa(maxDepth)+" within each other")
	}
	defer func() { p.depth-- }()
	c := p.binary(0)
	if p.take("?") == "" {
		return c
	}
	x := p.expr()
	p.need(":")
	y := p.expr()
	return &term{func(s *scope) any {
		if truth(c.eval(s)) {
			return x.eval(s)
		}
		return y.eval(s)
	}, solveChoice(c, x, y)}
}

// levels lists binary operators, those that bind least first.
var levels = [][]string{{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "%"}}

func (p *parser) binary(level int) *term {
	if level == len(levels) {
		return p.unary()
	}
	x := p.binary(level + 1)
	for {
		operator := p.take(levels[level]...)
		if operator == "" {
			return x
		}
		left, right := x, p.binary(level+1)
		switch operator {
		case "||":
			x = &term{func(s *scope) any { return truth(left.eval(s)) || truth(right.eval(s)) }, solveLogical(left, right, true)}
		case "&&":
			x = &term{func(s *scope) any { return truth(left.eval(s)) && truth(right.eval(s)) }, solveLogical(left, right, false)}
		default:
			x = &term{func(s *scope) any { return apply(operator, left.eval(s), right.eval(s)) }, solveBinary(operator, left, right)}
		}
	}
}

func (p *parser) unary() *term {
	switch p.take("-", "!") {
	case "-":
		x := p.unary()
		return &term{func(s *scope) any { return apply("-", 0, x.eval(s)) }, nil}
	case "!":
		x := p.unary()
		return &term{func(s *scope) any { return !truth(x.eval(s)) }, solveNot(x)}
	}
	x := p.primary()
	for p.take("[") != "" {
		list := x
		var lo, hi *term
		if p.take(":") == "" {
			lo = p.expr()
			if p.take(":") == "" {
				p.need("]")
				at := lo
				x = &term{func(s *scope) any { return element(list.eval(s), at.eval(s)) }, nil}
				continue
			}
		}
		if p.take("]") == "" {
			hi = p.expr()
			p.need("]")
		}
		x = &term{func(s *scope) any { return part(list.eval(s), bound(lo, s), bound(hi, s)) }, solvePart(list, lo, hi)}
	}
	return x
}

func bound(x *term, s *scope) any {
	if x == nil {
		return nil
	}
	return x.eval(s)
}

func (p *parser) primary() *term {
	if len(p.tokens) == 0 {
		p.fail("a value", "")
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	constant := func(v any) *term { return &term{func(*scope) any { return v }, nil} }
	switch {
	case t == "(":
		x := p.expr()
		p.need(")")
		return x
	case t == "[":
		elements := p.list("]")
		return &term{func(s *scope) any { return listOf(values(elements, s)) }, solveList(elements)}
	case t[0] == '\'':
		return constant(t[1 : len(t)-1])
	case t[0] >= '0' && t[0] <= '9':
		if n, err := strconv.Atoi(t); err == nil {
			return constant(n)
		}
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			p.fail("a number", t)
		}
		return constant(f)
	case t == "true" || t == "false":
		return constant(t == "true")
	case t == "none":
		return constant(nil)
	case !isWord(rune(t[0])):
		p.fail("a value", t)
	}
	if p.take("(") != "" {
		return p.call(t)
	}
	p.names = append(p.names, t)
	return &term{func(s *scope) any { return s.lookup(t) }, solveName(t)}
}

// list parses expressions up to a closing bracket.
func (p *parser) list(end string) (list []*term) {
	for p.take(end) == "" {
		if len(list) > 0 {
			p.need(",")
		}
		list = append(list, p.expr())
	}
	return list
}

func values(list []*term, s *scope) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x.eval(s)
	}
	return out
}

// call parses the arguments of a function.
func (p *parser) call(name string) *term {
	if slices.Contains(ofTensors, name) {
		if len(p.tokens) < 2 || !isWord(rune(p.tokens[0][0])) || p.tokens[1] != ")" {
			p.fail("the name of an input or output in "+name+"(..)", strings.Join(p.tokens, " "))
		}
		tensor := p.tokens[0]
		p.names, p.tokens = append(p.names, tensor), p.tokens[2:]
		return &term{func(s *scope) any {
			v, err := s.call(name, tensor)
			if err != nil {
				panic(failure{err})
			}
			return v
		}, nil}
	}
	args := p.list(")")
	switch f, ok := functions[name]; {
	case name == "or" && len(args) == 2:
		return &term{func(s *scope) any {
			if v := args[0].eval(s); v != nil {
				return v
			}
			return args[1].eval(s)
		}, solveOr(args[0], args[1])}
	case name == "has" && len(args) == 1:
		return &term{func(s *scope) any { return args[0].eval(s) != nil }, solveHas(args[0])}
	case !ok:
		p.fail("a function", name)
		return nil
	case f.args >= 0 && len(args) != f.args:
		p.fail(fmt.Sprintf("%d arguments of %s", f.args, name), strconv.Itoa(len(args)))
		return nil
	default:
		return &term{func(s *scope) any { return f.eval(values(args, s)) }, solveFunction(name, args)}
	}
}
