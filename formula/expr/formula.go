package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/reduction"
)

// Formula is a sequence of macros and statements. It defines the outputs of an operator, or the functions for
// the values of an enum.
type Formula struct {
	Functions  []*Function
	Statements []*Statement
}

// Function is a macro: Name(Params...) = X. The macro ATTR.VALUE defines the meaning of a value of an enum
// attribute; in the formula of the enum itself its name is VALUE.
type Function struct {
	Pos    int
	Name   string
	Params []*Ident
	X      Node
}

// Statement defines the elements of its targets: Targets... = X for For... when When. It has several targets
// only if X is an argmax or argmin over as many indices, or a logsumexp with two. A target is an Ident (a
// scalar) or a Read.
type Statement struct {
	Pos     int
	Targets []Node
	X       Node
	For     []*Binder // ranges of indices of the left side that no shape implies
	When    Node      // the condition of the statement, or nil
	// Surrogate marks a gradient that deliberately differs from the derivative, by "as surrogate".
	Surrogate bool
}

// Gradient returns NAME if the statement defines grad.NAME, else "".
func (s *Statement) Gradient() string {
	if r, ok := s.Targets[0].(*Read); ok {
		if name, ok := strings.CutPrefix(r.Name, "grad."); ok {
			return name
		}
	}
	return ""
}

// formulaWords are the keywords of formulas, besides those of all expressions.
var formulaWords = []string{"if", "else", "for", "when"}

// maxFormula bounds the length of a formula, in bytes.
const maxFormula = 1 << 14

// ParseFormula parses a formula. It returns the lines without errors, and at most one error for each other
// line. A line that begins with a space or a tab continues the line before. // begins a comment.
//
//	line      = function | statement
//	function  = name { "." name } "(" names ")" "=" expr
//	statement = target { "," target } "=" expr [ "for" range { "," range } ] [ "when" expr ] [ "as" "surrogate" ]
//	target    = name | name index [ index ]
//	range     = name "<" expr | name "in" expr ".." expr
//	index     = "[" [ item { "," item } ] "]" ; item = expr | [ expr ] ":" [ expr ]
//	expr      = as in Parse, but without X[I] and X[Lo:Hi], and
//	          | expr "^" expr | "#" name | "#" "(" items ")" | [ "old." ] name index [ index ] [ "else" expr ]
//	          | kind "(" binder { "," binder } [ "if" expr ] [ ":" expr ] ")" | name { "." name } "(" exprs ")"
//	          | operator "(" [ exprs ] { "," name "=" expr } ")" [ "." name ] index
//	          | order "(" binder { "," binder } ":" expr [ "descending" ] ")" "[" exprs "]"
//	binder    = range | postfix
func ParseFormula(text string) (*Formula, []*Error) {
	f := &Formula{}
	if len(text) > maxFormula {
		return f, []*Error{{Pos: 0, End: len(text), Code: BadSyntax, Message: fmt.Sprintf("the formula is longer than %d bytes", maxFormula)}}
	}
	var errs []*Error
	for _, l := range formulaLines(text) {
		p := &parser{text: l.text, at: l.at, formula: true}
		p.next()
		if err := p.line(f); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 && len(f.Functions)+len(f.Statements) == 0 {
		errs = append(errs, &Error{Pos: 0, End: len(text), Code: BadSyntax, Message: "want a formula, got nothing"})
	}
	return f, errs
}

// formulaLine is a logical line: a line with its continuation lines. It is text[at:], where text is the
// formula up to the end of the line, so that positions are offsets in the formula.
type formulaLine struct {
	text string
	at   int
}

// formulaLines splits a formula into logical lines. It replaces comments by spaces.
func formulaLines(text string) []formulaLine {
	plain := []byte(text)
	var lines []formulaLine
	at := 0
	for line := range strings.Lines(text) {
		end := at + len(line)
		code := line
		if i := strings.Index(line, "//"); i >= 0 {
			code = line[:i]
			for j := at + i; j < end; j++ {
				plain[j] = ' '
			}
		}
		switch {
		case strings.TrimSpace(code) == "":
		case (line[0] == ' ' || line[0] == '\t') && len(lines) > 0:
			lines[len(lines)-1].text = string(plain[:end])
		default:
			lines = append(lines, formulaLine{string(plain[:end]), at})
		}
		at = end
	}
	return lines
}

// FormulaLines returns the logical lines of a formula, without comments and with runs of spaces collapsed.
func FormulaLines(text string) []string {
	var lines []string
	for _, l := range formulaLines(text) {
		p := &parser{text: l.text, at: l.at, formula: true}
		var b strings.Builder
		end := l.at
		for p.next(); p.tok.kind != tokEOF; p.next() {
			if b.Len() > 0 && p.tok.pos > end {
				b.WriteByte(' ')
			}
			b.WriteString(p.tok.text)
			end = p.tok.end
		}
		lines = append(lines, b.String())
	}
	return lines
}

// line parses a function or a statement.
func (p *parser) line(f *Formula) *Error {
	pos := p.tok.pos
	var targets []Node
	for {
		if p.tok.kind != tokName {
			return p.unexpected("the name of a tensor, a value or a function")
		}
		x, err := p.primary()
		if err != nil {
			return err
		}
		if c, ok := x.(*Call); ok && len(targets) == 0 && p.is("=") {
			return p.function(f, c)
		}
		switch x := x.(type) {
		case *Ident:
		case *Read:
			if x.Else != nil {
				return errorf(x.Else, BadSyntax, "what is given has no else")
			}
			if x.Old {
				return errorf(x, BadSyntax, "old.%s cannot be given: it is what %s was before", x.Name, x.Name)
			}
		default:
			return errorf(x, BadSyntax, "want the name of a tensor, a value or a function")
		}
		targets = append(targets, x)
		if !p.accept(",") {
			break
		}
	}
	if err := p.expect("="); err != nil {
		return err
	}
	s := &Statement{Pos: pos, Targets: targets}
	var err *Error
	if s.X, err = p.expr(); err != nil {
		return err
	}
	if p.acceptWord("for") {
		for {
			b, err := p.binder()
			if err != nil {
				return err
			}
			if b.Hi == nil {
				return errorf(b, BadSyntax, "want a range, such as i < n")
			}
			s.For = append(s.For, b)
			if !p.accept(",") {
				break
			}
		}
	}
	if p.acceptWord("when") {
		if s.When, err = p.expr(); err != nil {
			return err
		}
	}
	if p.acceptWord("as") {
		if s.Gradient() == "" || !p.isWord("surrogate") {
			return p.unexpected("the end of the line, or as surrogate behind a gradient")
		}
		p.next()
		s.Surrogate = true
	}
	if p.tok.kind != tokEOF {
		return p.unexpected("the end of the line")
	}
	if r, ok := s.X.(*Reduce); len(targets) > 1 && s.Pair() == nil && (!ok || !r.Kind.Is(reduction.Argument) || len(r.Binders) != len(targets)) {
		return errorf(s.X, BadSyntax, "want argmax or argmin over %d indices, one for each target", len(targets))
	}
	f.Statements = append(f.Statements, s)
	return nil
}

// Pair returns the logsumexp of a statement with two targets: the first is the maximum m of the elements,
// the second log(sum(exp(element - m))). It returns nil for other statements.
func (s *Statement) Pair() *Reduce {
	if r, ok := s.X.(*Reduce); ok && r.Kind == reduction.LogSumExp && len(s.Targets) == 2 {
		return r
	}
	return nil
}

// function parses the right side of a macro; its left side was parsed as a call.
func (p *parser) function(f *Formula, left *Call) *Error {
	out := &Function{Pos: left.Pos(), Name: left.Func}
	for _, a := range left.Args {
		id, ok := a.(*Ident)
		if !ok {
			return errorf(a, BadSyntax, "want the name of a parameter")
		}
		if slices.ContainsFunc(out.Params, func(p *Ident) bool { return p.Name == id.Name }) {
			return errorf(a, BadSyntax, "two parameters are called %s", id.Name)
		}
		out.Params = append(out.Params, id)
	}
	p.next()
	var err *Error
	if out.X, err = p.expr(); err != nil {
		return err
	}
	if p.tok.kind != tokEOF {
		return p.unexpected("the end of the line")
	}
	f.Functions = append(f.Functions, out)
	return nil
}

func (p *parser) isWord(word string) bool { return p.tok.kind == tokName && p.tok.text == word }

func (p *parser) acceptWord(word string) bool {
	if p.isWord(word) {
		p.next()
		return true
	}
	return false
}

// power parses x ^ y, which binds more tightly than unary minus: -x^2 is -(x^2).
func (p *parser) power() (Node, *Error) {
	x, err := p.postfix()
	if err != nil || !p.accept("^") {
		return x, err
	}
	if p.depth++; p.depth > maxDepth {
		return nil, &Error{Pos: p.tok.pos, End: p.tok.end, Code: BadSyntax, Message: "the expression is nested too deeply"}
	}
	defer func() { p.depth-- }()
	y, err := p.unary()
	if err != nil {
		return nil, err
	}
	return &Binary{base{pos: x.Pos(), end: y.End()}, "^", x, y}, nil
}

// named parses an expression that begins with name t: a name, a call, a reduction or an element of a tensor.
// t was consumed already.
func (p *parser) named(t token) (Node, *Error) {
	name, end, old := t.text, t.end, false
	var x Node = &Ident{base: base{pos: t.pos, end: t.end}, Name: t.text}
	for p.accept(".") {
		if p.tok.kind != tokName {
			return nil, p.unexpected("the name of a field")
		}
		if name == "old" {
			name, old = p.tok.text, true
		} else {
			name += "." + p.tok.text
		}
		end = p.tok.end
		x = &Select{base{pos: t.pos, end: end}, x, p.tok.text, p.tok.pos}
		p.next()
	}
	switch {
	case p.is("("):
		if reduction.Of(name) != 0 && p.isReduction() {
			return p.reduction(t.pos, reduction.Of(name))
		}
		return p.inline(t.pos, name)
	case !p.is("["):
		return x, nil
	}
	r := &Read{Name: name, NameEnd: end, Old: old}
	for p.accept("[") {
		items := []Node{}
		for !p.is("]") {
			x, err := p.item()
			if err != nil {
				return nil, err
			}
			items = append(items, x)
			if !p.is("]") && !p.accept(",") {
				return nil, p.unexpected(`"," or "]"`)
			}
		}
		r.base = base{pos: t.pos, end: p.tok.end}
		p.next()
		r.Groups = append(r.Groups, items)
	}
	if len(r.Groups) > 2 {
		return nil, errorf(r, BadSyntax, "want one index, or two where the first is the number of a tensor, got %d", len(r.Groups))
	}
	if p.acceptWord("else") {
		if p.depth++; p.depth > maxDepth {
			return nil, &Error{Pos: p.tok.pos, End: p.tok.end, Code: BadSyntax, Message: "the expression is nested too deeply"}
		}
		defer func() { p.depth-- }()
		var err *Error
		if r.Else, err = p.unary(); err != nil {
			return nil, err
		}
		r.end = r.Else.End()
	}
	return r, nil
}

// item parses a subscript, or a slice lo:hi of a run.
func (p *parser) item() (Node, *Error) {
	pos := p.tok.pos
	var lo, hi Node
	var err *Error
	if !p.is(":") {
		if lo, err = p.expr(); err != nil || !p.is(":") {
			return lo, err
		}
	}
	end := p.tok.end
	p.next()
	if !p.is("]") && !p.is(",") {
		if hi, err = p.expr(); err != nil {
			return nil, err
		}
		end = hi.End()
	}
	return &Slice{base{pos: pos, end: end}, nil, lo, hi}, nil
}

// number parses a flat index: #x or #(x, y).
func (p *parser) number() (Node, *Error) {
	n := &Number{}
	pos := p.tok.pos
	p.next()
	if !p.is("(") {
		if p.tok.kind != tokName {
			return nil, p.unexpected("an index or a list of indices in parentheses")
		}
		x, err := p.primary()
		if err != nil {
			return nil, err
		}
		n.Items, n.base = []Node{x}, base{pos: pos, end: x.End()}
		return n, nil
	}
	c, err := p.call(pos, "#")
	if err != nil {
		return nil, err
	}
	n.Items, n.base = c.(*Call).Args, base{pos: pos, end: c.End()}
	if len(n.Items) == 0 {
		return nil, errorf(n, BadSyntax, "want an index, got nothing")
	}
	return n, nil
}
