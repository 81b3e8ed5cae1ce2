package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/dtype"
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
			if d.Each {
				t = jen.Index().Add(t)
				from += ", of each tensor"
			}
			g.Id(d.Name).Add(t).Comment(line(from))
		}
	})
	f.Line()
	comment(f, "resolve works out the shapes and element types of all slots of %s from those of its inputs.", o.Name)
	attrs := "attrs"
	if !e.resolveUsesAttrs() {
		attrs = "_"
	}
	f.Func().Id("resolve").Params(jen.Id(attrs).Add(e.task("Attrs")), jen.Id("r").Op("*").Add(e.task("Resolution"))).BlockFunc(e.resolve)
}

// nodes returns every expression of the operator.
func nodes(o *model.Operator) []expr.Node {
	var all []expr.Node
	add := func(ns ...expr.Node) { all = append(all, ns...) }
	for _, d := range o.Dims {
		add(d.Node)
	}
	for _, s := range o.Slots {
		add(s.PresentIf, s.BelowX)
		if s.Variadic {
			add(s.CountX)
		}
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
	for _, s := range o.Shards {
		if s.WhenX != nil {
			add(s.WhenX)
		}
	}
	for _, a := range o.Args {
		add(a.Expr)
	}
	for _, t := range o.Tasks {
		for _, s := range t.Steps {
			add(s.OverX, s.GrainX, s.WhenX)
			add(s.InnerX...)
			add(tileNodes(s.Tiles)...)
		}
		add(t.FlopsX, t.BytesX)
	}
	var out []expr.Node
	for _, n := range all {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}

// resolveUsesAttrs reports whether shapes depend on attributes.
func (e *emitter) resolveUsesAttrs() bool {
	named := func(name string) bool { return e.attr(name) != nil }
	return uses(ofClass(expr.Attr), nodes(e.op)...) ||
		slices.ContainsFunc(e.op.Requires, func(q model.Require) bool { return slices.ContainsFunc(q.Names, named) }) ||
		slices.ContainsFunc(e.op.Attrs, func(a *model.Attr) bool { return a.Axis != nil }) ||
		slices.ContainsFunc(e.op.Types, func(v model.TypeVar) bool { return slices.ContainsFunc(v.From, e.readsType) })
}

// readsType reports whether a dtype variable gets its type from an attribute's value: from its type
// alone, the attribute itself is not needed.
func (e *emitter) readsType(name string) bool {
	a := e.attr(name)
	return a != nil && (a.Type == "dtype" || a.Optional)
}

func (e *emitter) resolve(g *jen.Group) {
	o := e.op
	x := &exprs{e}
	all := nodes(o)
	if e.resolveUsesAttrs() {
		g.List(jen.Id("a"), jen.Id("d")).Op(":=").List(jen.Id("attrs").Assert(jen.Id("Attrs")), jen.Op("&").Id("Dims").Values())
	} else {
		g.Id("d").Op(":=").Op("&").Id("Dims").Values()
	}
	g.Id("r").Dot("Dims").Op("=").Id("d")
	done := map[*model.Attr]bool{}
	for _, s := range o.Slots {
		if s.Pattern == nil {
			continue
		}
		// An axis is checked once its slot has the right rank, or before, where a pattern uses it.
		for _, el := range s.Pattern.Elems {
			e.axes(g, all, done, func(a *model.Attr) bool { return el.Node != nil && slices.Contains(expr.Names(el.Node), a.Name) })
		}
		e.match(g, x, s)
		e.axes(g, all, done, func(a *model.Attr) bool { return a.Axis.Slot == s.Name })
	}
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
		if s.BelowX != nil {
			g.Add(e.task("SetBelow").Call(jen.Id("r"), jen.Id("Slot"+s.GoName), x.code(s.BelowX, 0)))
		}
	}
	e.setSlots(g, x)
	e.shards(g, x)
	e.setArgs(g, x)
	g.Line()
	for ti, t := range o.Tasks {
		if !t.Invoked() {
			continue
		}
		for si, s := range t.Steps {
			grain := jen.Lit(0)
			if t.Reduces() {
				grain = x.code(s.OverX, 0) // one range, so that operations have one order
			}
			if s.GrainX != nil {
				grain = x.code(s.GrainX, 0)
			}
			args := []jen.Code{jen.Lit(ti), jen.Lit(si), x.code(s.OverX, 0), grain}
			for _, n := range s.InnerX {
				args = append(args, x.code(n, 0))
			}
			calls := append([]jen.Code{jen.Id("r").Dot("SetWork").Call(args...).Comment(line(t.Name + suffix(s.Name)))}, e.tiles(s.Tiles, ti, si, x)...)
			if s.WhenX != nil {
				g.If(x.code(s.WhenX, 0)).Block(calls...)
				continue
			}
			for _, c := range calls {
				g.Add(c)
			}
		}
	}
	for ti, t := range o.Tasks {
		if t.FlopsX == nil {
			continue
		}
		if !slices.ContainsFunc(o.Tasks[:ti], func(t *model.Task) bool { return t.FlopsX != nil }) {
			g.Line()
		}
		bytes := jen.Lit(0)
		if t.BytesX != nil {
			bytes = x.as(t.BytesX, expr.Float)
		}
		g.Id("r").Dot("SetCost").Call(jen.Lit(ti), x.as(t.FlopsX, expr.Float), bytes).Comment(line(t.Name))
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
	if a := e.attr(name); a != nil {
		return jen.Id("a").Dot(a.GoName)
	}
	for i, t := range e.op.Types {
		if t.Name == name {
			return jen.Id("r").Dot("Types").Index(jen.Lit(i))
		}
	}
	return jen.Id("d").Dot(name)
}

// attr returns the attribute of a name, or nil.
func (e *emitter) attr(name string) *model.Attr {
	for _, a := range e.op.Attrs {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// axes emits the checks of those axis attributes that no pattern consumes, that are not done yet and
// that only admits. all are the operator's expressions: an axis that they use gets a variable.
func (e *emitter) axes(g *jen.Group, all []expr.Node, done map[*model.Attr]bool, only func(*model.Attr) bool) {
	for _, a := range e.op.Attrs {
		if a.Axis == nil || a.Axis.Binds != "" || done[a] || !only(a) {
			continue
		}
		done[a] = true
		value := jen.Id("a").Dot(a.GoName)
		checked := uses(func(n expr.Node) bool {
			c, ok := n.(*expr.Call)
			return ok && c.Func == "or" && ofAttr(a.Name)(c.Args[0])
		}, all...)
		switch {
		case a.Optional && !checked:
			g.If(jen.List(jen.Id("v"), jen.Id("ok")).Op(":=").Add(value).Dot("Get").Call(), jen.Id("ok")).Block(e.checkAxis(a, jen.Id("v")))
		case a.Optional: // or(axis, ...) checks it
		case uses(ofAttr(a.Name), all...):
			g.Id(e.axisVar(a)).Op(":=").Add(e.checkAxis(a, value))
		default:
			g.Add(e.checkAxis(a, value))
		}
	}
}

// typeVar is the local variable that holds what a dtype variable stands for.
func typeVar(v model.TypeVar) string { return "type" + goname.Exported(v.Name) }

// dependent returns the numbers of dtype variables, each behind those that it may get its type from.
func dependent(types []model.TypeVar) []int {
	var order []int
	var add func(i int)
	add = func(i int) {
		if slices.Contains(order, i) {
			return
		}
		for j, v := range types {
			if slices.Contains(types[i].From, v.Name) {
				add(j)
			}
		}
		order = append(order, i)
	}
	for i := range types {
		add(i)
	}
	return order
}

// attrTypes gives the element type that attributes of a type stand for.
var attrTypes = map[string]dtype.Type{"bool": dtype.Bool, "int": dtype.I64, "float": dtype.F32, "string": dtype.String}

// typeSources returns what a dtype variable gets its type from if no input binds it.
func (e *emitter) typeSources(v model.TypeVar) []jen.Code {
	var sources []jen.Code
	for _, name := range v.From {
		i := slices.IndexFunc(e.op.Types, func(w model.TypeVar) bool { return w.Name == name })
		a := e.attr(name)
		switch {
		case i >= 0:
			sources = append(sources, jen.Id(typeVar(e.op.Types[i])))
		case a == nil:
			t, _ := dtype.Parse(name)
			sources = append(sources, jen.Qual(e.rt("dtype"), dtypeConst(t)))
		case a.Type == "dtype":
			sources = append(sources, jen.Id("a").Dot(a.GoName))
		default:
			c := jen.Qual(e.rt("dtype"), dtypeConst(attrTypes[a.Type]))
			if a.Optional {
				c = e.task("TypeIf").Call(jen.Id("a").Dot(a.GoName).Dot("Has").Call(), c)
			}
			sources = append(sources, c)
		}
	}
	return sources
}

// bindTypes emits the binding of dtype variables by the inputs, and the check of fixed types.
func (e *emitter) bindTypes(g *jen.Group) {
	o := e.op
	order := dependent(o.Types)
	for _, i := range order {
		v := o.Types[i]
		var slots []jen.Code
		for _, s := range o.Slots {
			if s.Pattern != nil && s.Var == i {
				slots = append(slots, jen.Id("Slot"+s.GoName))
			}
		}
		call := e.task("BindType").Call(append([]jen.Code{jen.Id("r"), jen.Lit(i)}, slots...)...)
		if len(v.From) > 0 {
			if len(slots) > 0 {
				g.Add(call)
			}
			call = e.task("TypeFrom").Call(append([]jen.Code{jen.Id("r"), jen.Lit(i)}, e.typeSources(v)...)...)
		}
		needed := slices.ContainsFunc(o.Types, func(w model.TypeVar) bool { return slices.Contains(w.From, v.Name) }) ||
			slices.ContainsFunc(o.Slots, func(s *model.Slot) bool { return s.Pattern == nil && s.Var == i })
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
// setSlots emits the shapes of slots that the operator makes. Neighbors with one condition share an if.
func (e *emitter) setSlots(g *jen.Group, x *exprs) {
	made := slices.DeleteFunc(slices.Clone(e.op.Slots), func(s *model.Slot) bool { return s.Pattern != nil })
	conditional := func(s *model.Slot) bool { return !s.Variadic && !s.OnRequest && s.PresentIf != nil }
	for len(made) > 0 {
		first, n := made[0], 1
		if !conditional(first) {
			e.setSlot(g, x, first)
		} else {
			for n < len(made) && conditional(made[n]) && made[n].Present == first.Present {
				n++
			}
			g.If(x.code(first.PresentIf, 0)).BlockFunc(func(g *jen.Group) {
				for _, s := range made[:n] {
					g.Add(e.setCall(x, s))
				}
			})
		}
		made = made[n:]
	}
}

// setCall returns the call that sets the shape and element type of a slot.
func (e *emitter) setCall(x *exprs, s *model.Slot) *jen.Statement {
	t := jen.Qual(e.rt("dtype"), dtypeConst(s.Fixed))
	if s.Var >= 0 {
		t = jen.Id(typeVar(e.op.Types[s.Var]))
	}
	return e.task("Set").Call(append([]jen.Code{jen.Id("r"), jen.Id("Slot" + s.GoName), t}, x.dims(s.Dims)...)...)
}

// setSlot emits the shape of a slot that always has a tensor, has several, or has one on request.
func (e *emitter) setSlot(g *jen.Group, x *exprs, s *model.Slot) {
	set := e.setCall(x, s)
	switch {
	case s.Variadic:
		each := jen.Range().Add(e.task("Count")).Call(jen.Id("r"), jen.Id("Slot"+s.GoName), x.code(s.CountX, 0))
		if slices.ContainsFunc(s.Dims, func(d scope.ShapeExpr) bool { return uses(ofClass(expr.Position), d.Node) }) {
			each = jen.Id("i").Op(":=").Add(each)
		}
		g.For(each).Block(set)
	case s.OnRequest:
		g.If(e.task("Requested").Call(jen.Id("r"), jen.Id("Slot"+s.GoName))).Block(set)
	default:
		g.Add(set)
	}
}
