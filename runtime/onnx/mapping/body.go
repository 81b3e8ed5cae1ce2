package mapping

import (
	"fmt"
	"slices"
	"strings"
)

// Line is a node of a body: an operator with its inputs and outputs.
type Line struct {
	Outputs []string // names, which later lines read; a name may be given again
	Op      string   // an operator of ONNX
	Args    []Arg
	Attrs   []Attr // attributes of ONNX
	When    string // a condition; "" for none
}

// Arg is an input of a node of a body: a tensor, a constant, or nothing.
type Arg struct {
	Name string // of a slot, of an output of a line, or of an attribute, whose value is a constant
	Text string // an expression, whose value is the constant
	Type string // an expression, whose value is the constant's element type; "" for that of other inputs
}

// Body parses the nodes of an entry, one in a line, such as
//
//	y = Op(x, [1] : 'f32'; a = 2) if bias
func Body(text string) (lines []Line, err error) {
	for text := range strings.Lines(text) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		l, err := parseLine(text)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func parseLine(text string) (l Line, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = e.err
		}
	}()
	p := &parser{text: text}
	p.lex()
	l.Outputs = append(l.Outputs, p.word())
	for p.take(",") != "" {
		l.Outputs = append(l.Outputs, p.word())
	}
	p.need("=")
	l.Op = p.word()
	p.need("(")
	for p.take(")") == "" {
		if p.take(";") != "" {
			for {
				name := p.word()
				p.need("=")
				l.Attrs = append(l.Attrs, Attr{Name: name, Value: p.raw()})
				if p.take(",") == "" {
					break
				}
			}
			p.need(")")
			break
		}
		if len(l.Args) > 0 {
			p.need(",")
		}
		if len(p.tokens) > 1 && isName(p.tokens[0]) && slices.Contains([]string{",", ";", ")"}, p.tokens[1]) {
			l.Args = append(l.Args, Arg{Name: p.word()})
		} else {
			a := Arg{Text: p.raw()}
			if p.take(":") != "" {
				a.Type = p.raw()
			}
			l.Args = append(l.Args, a)
		}
	}
	if p.take("if") != "" {
		l.When = p.raw()
	}
	if len(p.tokens) > 0 {
		p.fail("the end of the line", p.tokens[0])
	}
	return l, nil
}

func isName(token string) bool {
	return isWord(rune(token[0])) && (token[0] < '0' || token[0] > '9') && !slices.Contains([]string{"true", "false", "none"}, token)
}

func (p *parser) word() string {
	if len(p.tokens) == 0 || !isName(p.tokens[0]) {
		got := ""
		if len(p.tokens) > 0 {
			got = p.tokens[0]
		}
		p.fail("a name", got)
	}
	return p.take(p.tokens[0])
}

// raw parses an expression and returns its text.
func (p *parser) raw() string {
	before := p.tokens
	p.expr()
	return strings.Join(before[:len(before)-len(p.tokens)], " ")
}

// Expressions returns the expressions of a line.
func (l *Line) Expressions() (out []string) {
	if l.When != "" {
		out = append(out, l.When)
	}
	for _, a := range l.Args {
		for _, text := range []string{a.Name, a.Text, a.Type} {
			if text != "" {
				out = append(out, text)
			}
		}
	}
	for _, a := range l.Attrs {
		out = append(out, a.Value)
	}
	return out
}

// Says reports whether an entry with a body reads a name, or lists it under Ignore: attributes of the
// operator that it does neither with must be absent.
func (e *Entry) Says(lines []Line, name string) bool {
	texts := []string{e.When}
	for i := range lines {
		texts = append(texts, lines[i].Expressions()...)
	}
	return slices.Contains(e.Ignore, name) || slices.ContainsFunc(texts, func(text string) bool {
		x, err := Parse(text)
		return err == nil && slices.Contains(x.Names(), name)
	})
}

// CheckSave returns an error of what an entry says about saving: a line of the body cannot be read, reads
// what no slot and no line in front gives, or no line gives one of outputs; or an expression reads what is
// neither one of attrs nor a tensor.
func (e *Entry) CheckSave(slots, attrs, outputs []string) error {
	lines, err := Body(e.Body)
	if err != nil {
		return err
	}
	given := slices.Clone(slots)
	texts := []string{e.When}
	for _, a := range e.Save {
		texts = append(texts, a.Value)
	}
	for i := range lines {
		l := &lines[i]
		for _, a := range l.Args {
			if a.Name != "" && !slices.Contains(given, a.Name) && !slices.Contains(attrs, a.Name) {
				return fmt.Errorf("want a slot, an attribute or what a line in front gives, got %s", a.Name)
			}
		}
		given = append(given, l.Outputs...)
		texts = append(texts, l.Expressions()...)
	}
	for _, text := range texts {
		if text == "" || text == e.When && e.Body == "" {
			continue
		}
		x, err := Parse(text)
		if err != nil {
			return err
		}
		for _, name := range x.Names() {
			if !slices.Contains(attrs, name) && !slices.Contains(given, name) {
				return fmt.Errorf("want an attribute or a tensor in %s, got %s", text, name)
			}
		}
	}
	for _, name := range outputs {
		if e.Body != "" && !slices.Contains(given, name) {
			return fmt.Errorf("want a line that gives %s, got none", name)
		}
	}
	return nil
}
