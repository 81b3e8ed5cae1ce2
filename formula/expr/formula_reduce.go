package expr

import "github.com/opgen/opgen/formula/reduction"

// isReduction looks ahead into the parentheses that follow, and reports whether they belong to a reduction
// rather than to a function of the same name. Those of a reduction contain a range, an if, or a colon that
// belongs to no conditional.
func (p *parser) isReduction() bool {
	q := *p
	depth, conditions := 0, 0
	for ; q.tok.kind != tokEOF && q.tok.kind != tokBad; q.next() {
		switch {
		case q.is("(") || q.is("["):
			depth++
		case q.is(")") || q.is("]"):
			if depth--; depth == 0 {
				return false
			}
		case depth > 1:
		case q.is("?"):
			conditions++
		case q.is(":"):
			if conditions == 0 {
				return true
			}
			conditions--
		case q.is("..") || q.isWord("if"):
			return true
		}
	}
	return false
}

func (p *parser) reduction(pos int, kind reduction.Kind) (Node, *Error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &Error{Pos: p.tok.pos, End: p.tok.end, Code: BadSyntax, Message: "the expression is nested too deeply"}
	}
	defer func() { p.depth-- }()
	p.next()
	r := &Reduce{Kind: kind}
	for {
		b, err := p.binder()
		if err != nil {
			return nil, err
		}
		r.Binders = append(r.Binders, b)
		if !p.accept(",") {
			break
		}
	}
	var err *Error
	if p.acceptWord("if") {
		if r.If, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if p.accept(":") {
		if r.X, err = p.expr(); err != nil {
			return nil, err
		}
	}
	r.Descending = kind.Is(reduction.Order) && p.acceptWord("descending")
	r.base = base{pos: pos, end: p.tok.end}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	switch {
	case kind == reduction.Count && r.X != nil:
		return nil, errorf(r.X, BadSyntax, "count has no value: write the condition behind if")
	case kind != reduction.Count && r.X == nil:
		return nil, errorf(r, BadSyntax, "want a colon and what %s goes over", kind)
	case kind.Is(reduction.Order):
		return r, p.place(r)
	}
	return r, nil
}

// place parses the subscript behind an order: [i].
func (p *parser) place(r *Reduce) *Error {
	if r.If != nil {
		return errorf(r.If, BadSyntax, "%s orders all elements, so it has no condition", r.Kind)
	}
	if !p.is("[") {
		want := "the place in the order, such as [i]"
		if r.Kind == reduction.Rank {
			want = "the index whose place in the order is meant, such as [k]"
		}
		return p.unexpected(want)
	}
	l, err := p.list()
	if err != nil {
		return err
	}
	r.At, r.end = l.(*List).Elems, l.End()
	return nil
}

// binder parses an index with an optional range, or a part of a run.
func (p *parser) binder() (*Binder, *Error) {
	if p.tok.kind != tokName {
		return nil, p.unexpected("an index")
	}
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	b := &Binder{base: base{pos: x.Pos(), end: x.End()}, X: x}
	switch {
	case p.accept("<"):
		if b.Hi, err = p.binary(additive); err != nil {
			return nil, err
		}
	case p.acceptWord("in"):
		if b.Lo, err = p.binary(additive); err != nil {
			return nil, err
		}
		if err := p.expect(".."); err != nil {
			return nil, err
		}
		if b.Hi, err = p.binary(additive); err != nil {
			return nil, err
		}
	default:
		return b, nil
	}
	if _, ok := x.(*Ident); !ok {
		return nil, errorf(x, BadSyntax, "want the name of an index")
	}
	b.end = b.Hi.End()
	return b, nil
}
