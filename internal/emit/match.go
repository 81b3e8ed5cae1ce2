package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
)

// matcher emits the matching of one slot's shape, which stands in the variable x, against its
// pattern.
type matcher struct {
	x     *exprs
	elems []scope.Elem
	open  int // the run of unknown length, or -1
}

// length returns how many dimensions some elements stand for, as Go: a number, plus the lengths of
// runs that are known, each preceded by op. before is what comes in front, if anything.
func (m *matcher) length(before *jen.Statement, op string, elems []scope.Elem) *jen.Statement {
	n := 0
	var runs []*jen.Statement
	for _, el := range elems {
		if el.Kind == scope.MatchAll {
			runs = append(runs, jen.Len(m.x.code(el.Node, 0)))
		} else {
			n++
		}
	}
	s := before
	if n > 0 || s == nil && len(runs) == 0 {
		if s == nil {
			s = jen.Lit(n)
		} else {
			s = s.Op(op).Lit(n)
		}
	}
	for _, r := range runs {
		if s == nil {
			s = r
		} else {
			s = s.Op(op).Add(r)
		}
	}
	return s
}

// at returns the index in x of element i: counted from the front before the open run, from the back
// after it.
func (m *matcher) at(i int) *jen.Statement {
	if m.open >= 0 && i > m.open {
		return m.length(jen.Len(jen.Id("x")), "-", m.elems[i:])
	}
	return m.length(nil, "+", m.elems[:i])
}

// part returns the dimensions of x that a run stands for.
func (m *matcher) part(i int) *jen.Statement {
	if len(m.elems) == 1 {
		return jen.Id("x")
	}
	lo, hi := jen.Empty(), jen.Empty()
	if i > 0 {
		lo = m.at(i)
	}
	if i == len(m.elems)-1 {
		return jen.Id("x").Index(lo, hi)
	}
	hi = m.at(i + 1)
	if i == m.open || m.open < 0 || i < m.open {
		return jen.Id("x").Index(lo, hi, hi.Clone())
	}
	return jen.Id("x").Index(lo, hi)
}

// match emits the matching of a slot's shape against its pattern.
func (e *emitter) match(g *jen.Group, x *exprs, s *model.Slot) {
	elems := s.Pattern.Elems
	m := &matcher{x: x, elems: elems, open: -1}
	var known []scope.Elem
	for i, el := range elems {
		if el.Kind == scope.BindRest || el.Kind == scope.AnyRest {
			if m.open < 0 {
				m.open = i
			}
		} else {
			known = append(known, el)
		}
	}
	f := "Rank"
	if m.open >= 0 {
		f = "RankAtLeast"
	}
	slot := jen.Id("Slot" + s.GoName)
	call := e.task(f).Call(jen.Id("r"), slot, m.length(nil, "+", known))
	var stmts []jen.Code
	if i, ok := scope.LaneDim(elems); ok {
		a := e.attr(elems[i].Axis.Name)
		axis := e.axisVar(a)
		stmts = []jen.Code{
			jen.Id(axis).Op(":=").Add(e.checkAxis(a, jen.Id("a").Dot(a.GoName))),
			jen.List(jen.Id("d").Dot(elems[0].Name), jen.Id("d").Dot(elems[1].Name), jen.Id("d").Dot(elems[2].Name)).Op("=").
				List(jen.Id("x").Index(jen.Empty(), jen.Id(axis), jen.Id(axis)), jen.Id("x").Index(jen.Id(axis)), jen.Id("x").Index(jen.Id(axis).Op("+").Lit(1), jen.Empty())),
		}
	} else {
		stmts = e.matchElems(m, slot)
	}
	switch {
	case len(stmts) > 0:
		g.If(jen.List(jen.Id("x"), jen.Id("ok")).Op(":=").Add(call), jen.Id("ok")).Block(stmts...)
	case f == "Rank" || len(known) > 0:
		g.Add(call)
	}
}

// matchElems returns the statements that bind and compare the elements of a pattern.
func (e *emitter) matchElems(m *matcher, slot *jen.Statement) []jen.Code {
	var left, right, stmts []jen.Code
	for i, el := range m.elems {
		switch el.Kind {
		case scope.Bind:
			left, right = append(left, jen.Id("d").Dot(el.Name)), append(right, jen.Id("x").Index(m.at(i)))
		case scope.BindRest:
			left, right = append(left, jen.Id("d").Dot(el.Name)), append(right, m.part(i))
		}
	}
	if len(left) > 0 {
		stmts = append(stmts, jen.List(left...).Op("=").List(right...))
	}
	for i, el := range m.elems {
		text := el.Name
		if text == "" {
			text = elemText(el)
		}
		switch el.Kind {
		case scope.Match:
			stmts = append(stmts, e.task("Equal").Call(jen.Id("r"), slot.Clone(), jen.Lit(text), m.x.code(el.Node, 0), jen.Id("x").Index(m.at(i))))
		case scope.MatchAll:
			stmts = append(stmts, e.task("EqualDims").Call(jen.Id("r"), slot.Clone(), jen.Lit(text), m.x.code(el.Node, 0), m.part(i)))
		}
	}
	return stmts
}

// elemText returns an element of a shape as the spec writes it, without the dots of a run.
func elemText(el scope.Elem) string {
	t := el.Span.File.Text[el.Span.Start:el.Span.End]
	if len(t) > 1 && (t[0] == '"' || t[0] == '\'') {
		t = t[1 : len(t)-1]
	}
	return strings.TrimSuffix(strings.TrimSpace(t), "...")
}
