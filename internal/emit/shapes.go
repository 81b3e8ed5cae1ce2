package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/task"
)

// shapes emits the dimensions that an operator binds, and the function that works out all shapes.
func (e *emitter) shapes(f *jen.File) {
	o := e.op
	comment(f, "Dims holds the dimensions that the shapes of %s bind.", o.Name)
	f.Type().Id("Dims").StructFunc(func(g *jen.Group) {
		for _, d := range o.Dims {
			from := "bound by " + d.From
			if d.From == "" {
				from = d.Text
			}
			t := jen.Int()
			if d.Rest {
				t = jen.Index().Int()
			}
			g.Id(d.Name).Add(t).Comment(from)
		}
	})
	f.Line()
	comment(f, "resolve works out the shapes and element types of all slots of %s from those of its inputs.", o.Name)
	f.Func().Id("resolve").Params(jen.Id("attrs").Add(e.task("Attrs")), jen.Id("r").Op("*").Add(e.task("Resolution"))).BlockFunc(e.resolve)
}

// nodes returns every expression of the operator.
func nodes(o *model.Operator) []expr.Node {
	var all []expr.Node
	add := func(ns ...expr.Node) { all = append(all, ns...) }
	for _, d := range o.Dims {
		add(d.Node)
	}
	for _, s := range o.Slots {
		add(s.PresentIf, s.BelowExpr)
		for _, x := range s.Dims {
			add(x.Node)
		}
		if s.Pattern != nil {
			for _, p := range s.Pattern.Elems {
				add(p.Node)
			}
		}
	}
	for _, q := range o.Requires {
		add(q.Node)
	}
	for _, t := range o.Tasks {
		for _, s := range t.Steps {
			add(s.OverX, s.GrainX, s.WhenX)
		}
	}
	var out []expr.Node
	for _, n := range all {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}

func (e *emitter) resolve(g *jen.Group) {
	o := e.op
	x := &exprs{e: e, r: "r", axisLocal: true}
	all := nodes(o)
	axisUsed := map[string]bool{}
	for _, n := range all {
		for _, name := range expr.Names(n) {
			axisUsed[name] = true
		}
	}
	usesAttrs := uses(expr.Attr, all...)
	for _, q := range o.Requires {
		usesAttrs = usesAttrs || len(q.Names) > 0
	}
	for _, a := range o.Attrs {
		usesAttrs = usesAttrs || a.Axis != nil
	}
	if usesAttrs {
		g.List(jen.Id("a"), jen.Id("d")).Op(":=").List(jen.Id("attrs").Assert(jen.Id("Attrs")), jen.Op("&").Id("Dims").Values())
	} else {
		g.Id("d").Op(":=").Op("&").Id("Dims").Values()
	}
	g.Id("r").Dot("Dims").Op("=").Id("d")
	for _, s := range o.Slots {
		if s.Pattern != nil {
			e.match(g, x, s)
		}
	}
	e.axes(g, x, axisUsed)
	e.bindTypes(g)
	for _, d := range o.Dims {
		if d.Node != nil {
			g.Id("d").Dot(d.Name).Op("=").Add(x.code(d.Node, 0))
		}
	}
	for _, s := range o.Slots {
		if s.Role == task.RoleInput && s.PresentIf != nil {
			g.Id("r").Dot("Require").Call(e.task("Has").Call(jen.Id("r"), jen.Id("Slot"+s.GoName)).Op("==").Parens(x.code(s.PresentIf, 0)),
				jen.Lit(fmt.Sprintf("%s is passed exactly if %s", s.Name, strings.ReplaceAll(s.Present, "%", "%%"))))
		}
	}
	for _, q := range o.Requires {
		g.Id("r").Dot("Require").CallFunc(func(g *jen.Group) {
			g.Add(x.code(q.Node, 0))
			g.Lit(q.Format)
			for _, n := range q.Names {
				g.Add(e.nameValue(n))
			}
		})
	}
	for _, s := range o.Slots {
		if s.BelowExpr != nil {
			g.Add(e.task("SetBelow").Call(jen.Id("r"), jen.Id("Slot"+s.GoName), x.code(s.BelowExpr, 0)))
		}
		if s.Pattern == nil {
			e.setSlot(g, x, s)
		}
	}
	for ti, t := range o.Tasks {
		for si, s := range t.Steps {
			grain := jen.Lit(0)
			if s.GrainX != nil {
				grain = x.code(s.GrainX, 0)
			}
			set := jen.Id("r").Dot("SetWork").Call(jen.Lit(ti), jen.Lit(si), x.code(s.OverX, 0), grain).Comment(t.Name + suffix(s.Name))
			if s.WhenX != nil {
				g.If(x.code(s.WhenX, 0)).Block(set)
			} else {
				g.Add(set)
			}
		}
	}
}

func suffix(step string) string {
	if step == "" {
		return ""
	}
	return ", " + step
}

// nameValue returns the value of a name that a requirement's message reports.
func (e *emitter) nameValue(name string) *jen.Statement {
	for _, a := range e.op.Attrs {
		if a.Name == name {
			return jen.Id("a").Dot(a.GoName)
		}
	}
	for i, t := range e.op.Types {
		if t.Name == name {
			return jen.Id("r").Dot("Types").Index(jen.Lit(i))
		}
	}
	return jen.Id("d").Dot(name)
}

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
		axis := axisVar(a.Name)
		stmts = []jen.Code{
			jen.Id(axis).Op(":=").Add(x.axis(a, jen.Id("a").Dot(a.GoName))),
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

// elemText returns an element of a shape as the spec writes it.
func elemText(el scope.Elem) string {
	t := el.Span.File.Text[el.Span.Start:el.Span.End]
	if len(t) > 1 && (t[0] == '"' || t[0] == '\'') {
		t = t[1 : len(t)-1]
	}
	return t
}

func (e *emitter) attr(name string) *model.Attr {
	for _, a := range e.op.Attrs {
		if a.Name == name {
			return a
		}
	}
	panic("emit: no attribute " + name)
}

// axes emits the checks of axis attributes that no pattern consumed.
func (e *emitter) axes(g *jen.Group, x *exprs, used map[string]bool) {
	for _, a := range e.op.Attrs {
		if a.Axis == nil || a.Axis.Binds != "" {
			continue
		}
		switch {
		case a.Optional:
			if !used[a.Name] {
				g.If(jen.List(jen.Id("v"), jen.Id("ok")).Op(":=").Id("a").Dot(a.GoName).Dot("Get").Call(), jen.Id("ok")).Block(x.axis(a, jen.Id("v")))
			}
		case used[a.Name]:
			g.Id(axisVar(a.Name)).Op(":=").Add(x.axis(a, jen.Id("a").Dot(a.GoName)))
		default:
			g.Add(x.axis(a, jen.Id("a").Dot(a.GoName)))
		}
	}
}

// typeVar is the local variable that holds what a dtype variable stands for.
func typeVar(v model.TypeVar) string { return "type" + goname.Exported(v.Name) }

// bindTypes emits the binding of dtype variables by the inputs, and the check of fixed types.
func (e *emitter) bindTypes(g *jen.Group) {
	o := e.op
	for i, v := range o.Types {
		call := e.task("BindType").CallFunc(func(g *jen.Group) {
			g.Id("r")
			g.Lit(i)
			for _, s := range o.Slots {
				if s.Pattern != nil && s.Var == i {
					g.Id("Slot" + s.GoName)
				}
			}
		})
		needed := false
		for _, s := range o.Slots {
			needed = needed || s.Pattern == nil && s.Var == i
		}
		if needed {
			g.Id(typeVar(v)).Op(":=").Add(call)
		} else {
			g.Add(call)
		}
	}
	for _, s := range o.Slots {
		if s.Pattern != nil && s.Var < 0 {
			g.Add(e.task("FixedType").Call(jen.Id("r"), jen.Id("Slot"+s.GoName), jen.Qual(e.rt("dtype"), dtypeConst(s.Fixed))))
		}
	}
}

// setSlot emits the shape of a slot that follows from others.
func (e *emitter) setSlot(g *jen.Group, x *exprs, s *model.Slot) {
	t := jen.Qual(e.rt("dtype"), dtypeConst(s.Fixed))
	if s.Var >= 0 {
		t = jen.Id(typeVar(e.op.Types[s.Var]))
	}
	set := e.task("Set").Call(append([]jen.Code{jen.Id("r"), jen.Id("Slot" + s.GoName), t}, x.dims(s.Dims)...)...)
	switch {
	case s.OnRequest:
		g.If(e.task("Requested").Call(jen.Id("r"), jen.Id("Slot"+s.GoName))).Block(set)
	case s.PresentIf != nil:
		g.If(x.code(s.PresentIf, 0)).Block(set)
	default:
		g.Add(set)
	}
}
