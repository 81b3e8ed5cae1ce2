package expr

// inline parses a call and, if one follows, the subscript of an element of the operator's output.
func (p *parser) inline(pos int, name string) (Node, *Error) {
	x, err := p.call(pos, name)
	if err != nil || !p.is("[") && !p.is(".") {
		return x, err
	}
	n := &Inline{base: base{pos: pos}, Call: x.(*Call)}
	if p.accept(".") {
		if p.tok.kind != tokName {
			return nil, p.unexpected("the name of an output")
		}
		n.Output = p.tok.text
		p.next()
	}
	if !p.is("[") {
		return nil, p.unexpected("the index of an element of " + n.Output)
	}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	n.At, n.end = l.(*List).Elems, l.End()
	return n, nil
}

// argument parses an argument of a call. In formulas it may be named; positional arguments precede named
// ones.
func (p *parser) argument(c *Call) *Error {
	pos, name := p.tok.pos, p.tok.text
	if q := *p; p.formula && p.tok.kind == tokName {
		if q.next(); q.is("=") {
			p.next()
			p.next()
			x, err := p.expr()
			if err == nil {
				c.Named = append(c.Named, &Named{base{pos: pos, end: x.End()}, name, x})
			}
			return err
		}
	}
	x, err := p.expr()
	switch {
	case err != nil:
		return err
	case len(c.Named) > 0:
		return errorf(x, BadSyntax, "want a name for this argument, since those before it have one")
	}
	c.Args = append(c.Args, x)
	return nil
}

// Inlined returns the distinct operators that a formula inlines, in order of appearance.
func Inlined(formula string) []string {
	var names []string
	add := func(c *Call) {
		for _, n := range names {
			if n == c.Func {
				return
			}
		}
		names = append(names, c.Func)
	}
	f, _ := ParseFormula(formula)
	f.Walk(func(n Node) {
		x, ok := n.(*Inline)
		if !ok {
			return
		}
		x.Call.tensors(add)
	})
	return names
}

// tensors calls f for the call of an operator, and for the calls nested in its arguments.
func (c *Call) tensors(f func(*Call)) {
	f(c)
	for _, a := range c.Args {
		if x, ok := a.(*Call); ok {
			x.tensors(f)
		}
	}
	for _, a := range c.Named {
		if x, ok := a.X.(*Call); ok {
			x.tensors(f)
		}
	}
}

// Walk calls visit for all expressions of a formula.
func (f *Formula) Walk(visit func(Node)) {
	for _, fn := range f.Functions {
		Walk(fn.X, visit)
	}
	for _, s := range f.Statements {
		for _, t := range s.Targets {
			Walk(t, visit)
		}
		Walk(s.X, visit)
		for _, b := range s.For {
			Walk(b, visit)
		}
		Walk(s.When, visit)
	}
}
