package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
)

// matcher emits the matching of one slot's shape, which stands in the variable x, against its
// pattern.
type matcher struct {
	x     *exprs
	elems []scope.Elem
	open  int    // the run of unknown length, or -1
	axis  string // the variable that holds the axis which a dimension stands for, or ""
	// position tells that what was emitted uses i, the number of a variadic slot's tensor.
	position bool
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
	if m.axis != "" {
		return []*jen.Statement{jen.Lit(0), jen.Id(m.axis), jen.Id(m.axis).Op("+").Lit(1)}[i]
	}
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
		if el.Kind == scope.BindRest || el.Kind == scope.BindEachRest || el.Kind == scope.AnyRest {
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
		m.axis = e.axisVar(a)
		stmts = append(stmts, jen.Id(m.axis).Op(":=").Add(e.checkAxis(a, jen.Id("a").Dot(a.GoName))))
	}
	stmts = append(stmts, e.matchElems(m, s)...)
	var one *jen.Statement
	switch {
	case len(stmts) > 0:
		one = jen.If(jen.List(jen.Id("x"), jen.Id("ok")).Op(":=").Add(call), jen.Id("ok")).Block(stmts...)
	case f == "Rank" || len(known) > 0:
		one = call
	default:
		return
	}
	if !s.Variadic {
		g.Add(one)
		return
	}
	each := jen.Range().Add(e.task("Each")).Call(jen.Id("r"), slot)
	if m.position {
		each = jen.Id("i").Op(":=").Add(each)
	}
	g.For(each).Block(one)
}

// matchElems returns the statements that bind and compare the elements of a pattern.
func (e *emitter) matchElems(m *matcher, s *model.Slot) []jen.Code {
	slot := jen.Id("Slot" + s.GoName)
	var left, right, same, each, stmts []jen.Code
	equal := func(f, name string, want, got *jen.Statement) jen.Code {
		return e.task(f).Call(jen.Id("r"), slot.Clone(), jen.Lit(name), want, got)
	}
	for i, el := range m.elems {
		dim := func() *jen.Statement { return jen.Id("d").Dot(el.Name) }
		switch el.Kind {
		case scope.Bind, scope.AxisDim, scope.BindEach:
			extent := jen.Id("x").Index(m.at(i))
			if el.Each {
				each = append(each, dim().Op("=").Append(dim(), extent))
				break
			}
			left, right = append(left, dim()), append(right, extent)
			same = append(same, equal("Equal", el.Name, dim(), extent.Clone()))
		case scope.BindRest, scope.BindEachRest:
			run := m.part(i)
			if el.Each {
				each = append(each, dim().Op("=").Append(dim(), run))
				break
			}
			left, right = append(left, dim()), append(right, run)
			same = append(same, equal("EqualDims", el.Name, dim(), run.Clone()))
		}
	}
	if len(left) > 0 {
		bind := jen.List(left...).Op("=").List(right...)
		if s.Variadic {
			m.position = true
			bind = jen.If(jen.Id("i").Op("==").Lit(0)).Block(bind).Else().Block(same...)
		}
		stmts = append(stmts, bind)
	}
	stmts = append(stmts, each...)
	for i, el := range m.elems {
		if el.Kind != scope.Match && el.Kind != scope.MatchAll {
			continue
		}
		text := el.Name
		if text == "" || uses(ofClass(expr.Position), el.Node) {
			text = elemText(el)
		}
		m.position = m.position || uses(ofClass(expr.Position), el.Node)
		if el.Kind == scope.Match {
			stmts = append(stmts, equal("Equal", text, m.x.code(el.Node, 0), jen.Id("x").Index(m.at(i))))
		} else {
			stmts = append(stmts, equal("EqualDims", text, m.x.code(el.Node, 0), m.part(i)))
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
