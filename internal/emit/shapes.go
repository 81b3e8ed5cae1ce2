package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// shapes emits the dimensions that an operator binds, and the function that computes all shapes.
func (e *emitter) shapes() {
	o := e.op
	e.comment("Dims holds the dimensions of the shapes of %s.", o.Name)
	if len(o.Dims) == 0 {
		e.p("type Dims struct{}\n")
	} else {
		e.p("type Dims struct {")
		var rows []row
		for _, d := range o.Dims {
			from := "bound by " + d.From
			if d.From == "" {
				from = line(d.Text)
			}
			t := "int"
			if d.Rest {
				t = "[]int"
			}
			if d.Each {
				t = "[]" + t
				from += ", for each tensor"
			}
			rows = append(rows, row{d.Name + "\t" + t, from})
		}
		e.rows(rows)
		e.p("}\n")
	}
	e.comment("resolve computes the shapes and element types of all slots of %s from those of its inputs.", o.Name)
	attrs, dims := "a", "d"
	if !e.resolveUsesAttrs() {
		attrs = "_"
	}
	if len(o.Dims) == 0 {
		dims = "_"
	}
	e.p("func resolve(r *opimpl.Resolver[Slot], %s Attrs, %s *Dims) {", attrs, dims)
	e.resolve()
	e.p("}")
}

// nodes returns all expressions of an operator.
func nodes(o *model.Operator) []expr.Node {
	var all []expr.Node
	add := func(ns ...expr.Node) { all = append(all, ns...) }
	for _, d := range o.Dims {
		add(d.Node)
	}
	for _, s := range o.Slots {
		add(s.PresentIf, s.BelowX, s.ExceptX)
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
		for _, p := range t.Params {
			add(p.OnlyIf)
		}
		for _, n := range t.Numbers {
			add(n.Exprs...)
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

// resolveUsesAttrs reports whether the function resolve reads attributes.
func (e *emitter) resolveUsesAttrs() bool {
	named := func(name string) bool { return e.attr(name) != nil }
	return uses(ofClass(expr.Attr), nodes(e.op)...) ||
		slices.ContainsFunc(e.op.Requires, func(q model.Require) bool { return slices.ContainsFunc(q.Names, named) }) ||
		slices.ContainsFunc(e.op.Attrs, func(a *model.Attr) bool { return a.Axis != nil }) ||
		slices.ContainsFunc(e.op.Types, func(v model.TypeVar) bool { return slices.ContainsFunc(v.From, e.readsType) })
}

// readsType reports whether the binding of a dtype variable to an attribute reads the attribute. The type of
// an attribute alone determines the element type if the attribute is neither a dtype nor optional.
func (e *emitter) readsType(name string) bool {
	a := e.attr(name)
	return a != nil && (a.Type == "dtype" || a.Optional)
}

func (e *emitter) resolve() {
	o := e.op
	x := &exprs{e: e}
	all := nodes(o)
	done := map[*model.Attr]bool{}
	for _, s := range o.Slots {
		if s.Pattern == nil {
			continue
		}
		// An axis that the pattern uses is checked before the pattern, and other axes of the slot after its
		// rank.
		for _, el := range s.Pattern.Elems {
			e.axes(all, done, func(a *model.Attr) bool { return el.Node != nil && slices.Contains(expr.Names(el.Node), a.Name) })
		}
		e.match(x, s)
		e.axes(all, done, func(a *model.Attr) bool { return a.Axis.Slot == s.Name })
	}
	e.bindTypes()
	for _, d := range o.Dims {
		if d.Node != nil {
			e.p("d.%s = %s", d.Name, x.code(d.Node, 0))
		}
	}
	for _, s := range o.Slots {
		if s.Role == task.RoleInput && s.PresentIf != nil {
			text := fmt.Sprintf("%s is passed exactly if %s", s.Name, strings.ReplaceAll(s.Present, "%", "%%"))
			e.p("r.Require(r.Has(Slot%s) == (%s), %s)", s.GoName, x.code(s.PresentIf, 0), strconv.Quote(text))
		}
	}
	for _, q := range o.Requires {
		args := []string{x.code(q.Node, 0), strconv.Quote(q.Format)}
		for _, n := range q.Names {
			args = append(args, e.nameValue(n))
		}
		e.p("r.Require(%s)", strings.Join(args, ", "))
	}
	for _, s := range o.Slots {
		switch {
		case s.ExceptX != nil:
			e.p("r.BelowOr(Slot%s, %s, %s)", s.GoName, x.code(s.BelowX, 0), x.code(s.ExceptX, 0))
		case s.BelowX != nil:
			e.p("r.Below(Slot%s, %s)", s.GoName, x.code(s.BelowX, 0))
		}
	}
	e.setSlots(x)
	for _, t := range o.Tasks {
		for _, p := range t.Params {
			if p.OnlyIf != nil {
				e.p("if %s {\nr.Unused(%sTask, Slot%s)\n}", x.not(p.OnlyIf), t.GoName, p.Slot.GoName)
			}
		}
	}
	e.shards(x)
	for _, t := range o.Tasks {
		for _, n := range t.Numbers {
			e.p("r.Numbers(%sTask, %d, %q, %s)", t.GoName, n.Constraint, n.List, strings.Join(x.codes(n.Exprs), ", "))
		}
	}
	for _, a := range o.Args {
		if a.Expr == nil {
			continue
		}
		v := x.code(a.Expr, 0)
		if a.Type == "float64" {
			v = "float64(" + v + ")"
		}
		e.p("r.Arg(Slot%s, %s)", a.GoName, v)
	}
	e.work()
}

// nameValue returns the value of a name that a requirement's message reports.
func (e *emitter) nameValue(name string) string {
	if a := e.attr(name); a != nil {
		return "a." + a.GoName
	}
	if slices.ContainsFunc(e.op.Types, func(t model.TypeVar) bool { return t.Name == name }) {
		return e.boundType(name)
	}
	return "d." + name
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

// axes emits the checks of the axis attributes for which only is true, and adds them to done. It omits those
// in done, and those that bind a dimension, which match checks. all holds the operator's expressions. An axis
// that they use gets a variable.
func (e *emitter) axes(all []expr.Node, done map[*model.Attr]bool, only func(*model.Attr) bool) {
	for _, a := range e.op.Attrs {
		if a.Axis == nil || a.Axis.Binds != "" || done[a] || !only(a) {
			continue
		}
		done[a] = true
		value := "a." + a.GoName
		checked := uses(func(n expr.Node) bool {
			c, ok := n.(*expr.Call)
			return ok && c.Func == "or" && ofAttr(a.Name)(c.Args[0])
		}, all...)
		switch {
		case a.Optional && !checked:
			e.p("if v, ok := %s.Get(); ok {\n%s\n}", value, checkAxis(a, "", "v"))
		case a.Optional: // or(axis, ...) checks it
		case uses(ofAttr(a.Name), all...):
			e.p("%s := %s", e.axisVar(a), checkAxis(a, "", value))
		default:
			e.p("%s", checkAxis(a, "", value))
		}
	}
}

// typeVar returns the name of the local variable that holds the element type of a dtype variable.
func typeVar(v model.TypeVar) string { return "type" + goname.Exported(v.Name) }

// dependent returns the numbers of dtype variables. Each follows those that it may get its type from.
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

// attrTypes gives the element type that the type of an attribute determines.
var attrTypes = map[string]dtype.Type{"bool": dtype.Bool, "int": dtype.I64, "float": dtype.F32, "string": dtype.String}

// typeSource returns, as Go, the element type of a name in a dtype variable's key from: of another dtype
// variable, an attribute or an element type.
func (e *emitter) typeSource(name string) string {
	i := slices.IndexFunc(e.op.Types, func(w model.TypeVar) bool { return w.Name == name })
	a := e.attr(name)
	switch {
	case i >= 0:
		return typeVar(e.op.Types[i])
	case a == nil:
		t, _ := dtype.Parse(name)
		return "dtype." + dtypeConst(t)
	case a.Type == "dtype":
		return "a." + a.GoName
	case a.Type == "number" && a.Optional:
		return fmt.Sprintf("opimpl.TypeIf(a.%[1]s.Has(), a.%[1]s.Or(attr.Number{}).Type())", a.GoName)
	case a.Type == "number":
		return "a." + a.GoName + ".Type()"
	case a.Optional:
		return fmt.Sprintf("opimpl.TypeIf(a.%s.Has(), dtype.%s)", a.GoName, dtypeConst(attrTypes[a.Type]))
	}
	return "dtype." + dtypeConst(attrTypes[a.Type])
}

// bindTypes emits the binding of dtype variables by the inputs, and the check of fixed types.
func (e *emitter) bindTypes() {
	o := e.op
	for _, i := range dependent(o.Types) {
		v := o.Types[i]
		args := []string{strconv.Quote(v.Name)}
		for _, s := range o.Slots {
			if s.Pattern != nil && s.Var == i {
				args = append(args, "Slot"+s.GoName)
			}
		}
		call := "r.BindType(" + strings.Join(args, ", ") + ")"
		if len(v.From) > 0 {
			if len(args) > 1 {
				e.p("%s", call)
			}
			args = args[:1]
			for _, name := range v.From {
				args = append(args, e.typeSource(name))
			}
			call = "r.TypeFrom(" + strings.Join(args, ", ") + ")"
		}
		if slices.ContainsFunc(o.Types, func(w model.TypeVar) bool { return slices.Contains(w.From, v.Name) }) ||
			slices.ContainsFunc(o.Slots, func(s *model.Slot) bool { return s.Pattern == nil && s.Var == i }) {
			call = typeVar(v) + " := " + call
		}
		e.p("%s", call)
	}
	for _, s := range o.Slots {
		if s.Pattern != nil && s.Var < 0 {
			e.p("r.FixedType(Slot%s, dtype.%s)", s.GoName, dtypeConst(s.Fixed))
		}
	}
}

// setSlots emits the shapes of slots that the operator makes. Neighbors with the same condition share an if
// statement.
func (e *emitter) setSlots(x *exprs) {
	made := slices.DeleteFunc(slices.Clone(e.op.Slots), func(s *model.Slot) bool { return s.Pattern != nil })
	conditional := func(s *model.Slot) bool { return !s.Variadic && !s.OnRequest && s.PresentIf != nil }
	for i, s := range made {
		if !conditional(s) {
			e.setSlot(x, s)
			continue
		}
		same := func(j int) bool {
			return j >= 0 && j < len(made) && conditional(made[j]) && made[j].Present == s.Present
		}
		if !same(i - 1) {
			e.p("if %s {", x.code(s.PresentIf, 0))
		}
		e.p("%s", e.setCall(x, s))
		if !same(i + 1) {
			e.p("}")
		}
	}
}

// setCall returns the call that sets the shape and element type of a slot.
func (e *emitter) setCall(x *exprs, s *model.Slot) string {
	t := "dtype." + dtypeConst(s.Fixed)
	if s.Var >= 0 {
		t = typeVar(e.op.Types[s.Var])
	}
	if dims := x.dims(s.Dims); dims != "" {
		t += ", " + dims
	}
	return fmt.Sprintf("r.Set(Slot%s, %s)", s.GoName, t)
}

// setSlot emits the shape of a slot that always has a tensor, has several, or has one on request.
func (e *emitter) setSlot(x *exprs, s *model.Slot) {
	set := e.setCall(x, s)
	switch {
	case s.Variadic:
		i := ""
		if slices.ContainsFunc(s.Dims, func(d scope.ShapeExpr) bool { return uses(ofClass(expr.Position), d.Node) }) {
			i = "i := "
		}
		count := fmt.Sprintf("r.Asked(Slot%s)", s.GoName)
		if s.CountX != nil {
			count = fmt.Sprintf("r.Count(Slot%s, %s)", s.GoName, x.code(s.CountX, 0))
		}
		e.p("for %srange %s {\n%s\n}", i, count, set)
	case s.OnRequest:
		e.p("if r.Requested(Slot%s) {\n%s\n}", s.GoName, set)
	default:
		e.p("%s", set)
	}
}
