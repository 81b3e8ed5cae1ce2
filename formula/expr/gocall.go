package expr

import "strings"

// GoCall is a call of a Go function, import/path.Func(Args...). Its result is a run of dimensions.
type GoCall struct {
	base
	Package string // the import path
	Func    string
	Args    []Node
}

// ParseGoCall parses the call of a Go function: import/path.Func(a, b).
func ParseGoCall(text string) (*GoCall, *Error) {
	open := strings.IndexByte(text, '(')
	dot := strings.LastIndexByte(text[:max(open, 0)], '.')
	bad := &Error{Pos: 0, End: len(text), Code: BadSyntax, Message: "want a call of an exported Go function, such as example.com/nn/shapes.Of(axis, X)"}
	if dot <= 0 || dot+1 >= open || strings.ContainsAny(text[:dot], " \t\n\"\\,") || text[dot+1] < 'A' || text[dot+1] > 'Z' {
		return nil, bad
	}
	p := &parser{text: text, at: dot + 1}
	p.next()
	name := p.tok
	if p.next(); name.kind != tokName || !p.is("(") {
		return nil, bad
	}
	n, err := p.call(name.pos, name.text)
	if err == nil && p.tok.kind != tokEOF {
		err = p.unexpected("the end of the call")
	}
	if err != nil {
		return nil, err
	}
	return &GoCall{base{pos: 0, end: len(text)}, text[:dot], name.text, n.(*Call).Args}, nil
}

// goCall checks that the arguments of a Go function have Go types: numbers, booleans, strings and lists.
func (c *checker) goCall(n *GoCall) (Type, *Error) {
	for _, a := range n.Args {
		t, err := c.check(a)
		if err != nil {
			return Type{}, err
		}
		switch t.Kind {
		case Int, Float, Bool, String, Dims, Shapes, Unknown:
			if !t.Optional {
				continue
			}
		}
		return Type{}, errorf(a, BadType, "want a number, a boolean, a string or a list of integers, got %s", article(t))
	}
	return Type{Kind: Dims}, nil
}
