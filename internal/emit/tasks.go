package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// tasks emits task ids, signatures, argument structs, the kernel interface, bodies and registration.
func (e *emitter) tasks(f *jen.File) {
	o := e.op
	id := func(t *model.Task) *jen.Statement {
		return jen.Id(t.GoName + "Task").Add(e.task("ID")).Op("=").Id("0x" + t.ID.String())
	}
	if len(o.Tasks) == 1 {
		comment(f, "%sTask is the id of %s's task %s.", o.Tasks[0].GoName, o.Name, o.Tasks[0].Name)
		f.Const().Add(id(o.Tasks[0]))
	} else {
		comment(f, "The ids of %s's tasks.", o.Name)
		f.Const().DefsFunc(func(g *jen.Group) {
			for _, t := range o.Tasks {
				g.Add(id(t))
			}
		})
	}
	for _, t := range o.Tasks {
		f.Line()
		e.arguments(f, t)
	}
	f.Line()
	e.kernels(f)
	for _, t := range o.Tasks {
		f.Line()
		e.bind(f, t)
		for _, s := range t.Steps {
			f.Line()
			e.body(f, t, s)
		}
	}
	f.Line()
	e.register(f)
}

// typeParams returns the declaration of type parameters, [T dtype.Float], or nothing.
func (e *emitter) typeParams(types []model.TypeVar) []jen.Code {
	var out []jen.Code
	for _, v := range types {
		out = append(out, jen.Id(v.Name).Add(e.constraint(v.Kernels())))
	}
	return out
}

// typeArgs returns the use of the type parameters, [T].
func (e *emitter) typeArgs() []jen.Code {
	var out []jen.Code
	for _, v := range e.op.Types {
		out = append(out, jen.Id(v.Name))
	}
	return out
}

func generic(name string, args []jen.Code) *jen.Statement {
	s := jen.Id(name)
	if len(args) > 0 {
		s = s.Types(args...)
	}
	return s
}

// constraint returns the constraint of a dtype variable: a union of named constraints and of types.
func (e *emitter) constraint(types []dtype.Type) *jen.Statement {
	rest := slices.Clone(types)
	var parts []jen.Code
	for _, c := range dtype.TypeSets() {
		if !slices.ContainsFunc(c.Types, func(t dtype.Type) bool { return !slices.Contains(rest, t) }) {
			parts = append(parts, jen.Qual(e.rt("dtype"), c.Name))
			rest = slices.DeleteFunc(rest, func(t dtype.Type) bool { return slices.Contains(c.Types, t) })
		}
	}
	for _, t := range rest {
		parts = append(parts, jen.Id(t.GoType()))
	}
	return jen.Union(parts...)
}

func kindConst(k task.Kind) string { return "Kind" + goname.Exported(k.String()) }

// element returns the Go element type of a slot: the type parameter, or a fixed type.
func (e *emitter) element(s *model.Slot) *jen.Statement {
	if s.Var >= 0 {
		return jen.Id(e.op.Types[s.Var].Name)
	}
	return jen.Id(s.Fixed.GoType())
}

// view returns the type of the view through which a task sees a slot, the name of the function that
// makes it, and whether it is wrapped in an Opt.
func view(p *model.Param) (typ, get string, optional bool) {
	s := p.Slot
	switch {
	case p.Grad && p.Perm == perm.Read:
		return "RO", "GradOf", s.Optional
	case p.Grad && p.Scatter:
		return "Scatter", "ScatterTo", false
	case p.Grad:
		return "Grad", "GradTo", false
	case s.PerWorker:
		return "PerWorker", "Local", false
	}
	optional = s.Optional || p.OnlyIf != nil
	switch p.Perm {
	case perm.Read:
		return "RO", "ReadOnly", optional
	case perm.Write:
		return "WO", "WriteOnly", optional
	case perm.Reduce:
		return "Reduction", "ReduceTo", optional
	}
	return "RW", "ReadWrite", optional
}

func (e *emitter) viewType(p *model.Param) *jen.Statement {
	typ, _, optional := view(p)
	v := e.tensor(typ).Types(e.element(p.Slot))
	if p.Slot.Variadic {
		return jen.Index().Add(v)
	}
	if optional {
		return e.tensor("Opt").Types(v)
	}
	return v
}

func paramDoc(p *model.Param) string {
	s := p.Slot
	if p.Grad {
		of := s.Name
		if s.Variadic {
			of = "each tensor of " + of
		}
		return fmt.Sprintf("%s is the gradient of %s, %s%s%s.", p.GoName, of, s.Type, s.Shape, presence(s))
	}
	doc := slotDoc(s)
	if p.OnlyIf != nil {
		doc = fmt.Sprintf("%s, given if %s", kindOfSlot(s), p.IfText)
	}
	return fmt.Sprintf("%s is %s", p.GoName, sentence(doc))
}

// arguments emits the struct through which a kernel reaches a task's slots.
func (e *emitter) arguments(f *jen.File, t *model.Task) {
	doc := fmt.Sprintf("%s holds the arguments of the task %s.", t.GoName, t.Name)
	if t.Doc != "" {
		doc += " " + sentence(t.Doc)
	}
	comment(f, "%s", doc)
	decl := f.Type().Id(t.GoName)
	if tp := e.typeParams(t.Types); len(tp) > 0 {
		decl = decl.Types(tp...)
	}
	decl.StructFunc(func(g *jen.Group) {
		g.Id("Attrs").Id("Attrs")
		g.Id("Dims").Id("Dims")
		for _, p := range t.Params {
			comment(g, "%s", paramDoc(p))
			g.Id(p.GoName).Add(e.viewType(p))
		}
		e.argFields(g, t)
	})
	e.argMethods(f, t)
}

// kernelType returns the name of the interface that a task's kernel implements. A task that exists for
// fewer element types than the operator has one of its own, since its methods would not make sense, or
// not even compile, for the others.
func (e *emitter) kernelType(t *model.Task) string {
	if len(t.Floating) > 0 {
		return t.GoName + "Kernel"
	}
	return "Kernel"
}

// kernelTypes returns the tasks of the operator by the interface of their kernels.
func (e *emitter) kernelTypes() (names []string, tasks map[string][]*model.Task) {
	tasks = map[string][]*model.Task{}
	for _, t := range e.op.Tasks {
		name := e.kernelType(t)
		if tasks[name] == nil {
			names = append(names, name)
		}
		tasks[name] = append(tasks[name], t)
	}
	return names, tasks
}

// kernels emits the interfaces that a person implements.
func (e *emitter) kernels(f *jen.File) {
	names, tasks := e.kernelTypes()
	for i, name := range names {
		if i > 0 {
			f.Line()
		}
		e.kernel(f, name, tasks[name])
	}
}

func (e *emitter) kernel(f *jen.File, name string, tasks []*model.Task) {
	if name == "Kernel" {
		comment(f, "Kernel is what a hand-written kernel of %s implements. Each method does the indices r.Lo to r.Hi-1 of its step; other ranges may run at the same time.", e.op.Name)
	} else {
		comment(f, "%s is what a hand-written kernel of %s implements for its task %s, which exists for floating-point types only. Its methods do ranges as those of Kernel do.", name, e.op.Name, tasks[0].Name)
	}
	decl := f.Type().Id(name)
	if tp := e.typeParams(tasks[0].Types); len(tp) > 0 {
		decl = decl.Types(tp...)
	}
	decl.InterfaceFunc(func(g *jen.Group) {
		for _, t := range tasks {
			if !t.Invoked() {
				e.stateMethod(g, t)
				continue
			}
			for _, s := range t.Steps {
				doc := fmt.Sprintf("%s runs over %s", s.GoName, s.Over)
				if s.Over == "1" {
					doc = s.GoName + " runs once"
				}
				if s.When != "" {
					doc += ", if " + s.When
				}
				if s.Doc != "" {
					doc += ": " + lowerFirst(s.Doc)
				}
				comment(g, "%s", sentence(doc))
				g.Id(s.GoName).Params(jen.Id("ctx").Op("*").Add(e.opQ("Ctx")), jen.Id("a").Op("*").Add(generic(t.GoName, e.typeArgs())), jen.Id("r").Add(e.opQ("Range"))).Error()
			}
		}
	})
}

// stateMethod emits the method of a kernel that makes or frees per-device state.
func (e *emitter) stateMethod(g *jen.Group, t *model.Task) {
	result := jen.Error()
	if t.Returns != nil {
		comment(g, "%s makes the per-device state %s, when a plan is loaded.", t.GoName, t.Returns.Name)
		result = jen.Params(e.goType(t.Returns), jen.Error())
	} else {
		comment(g, "%s frees what Init made, when the plan is closed.", t.GoName)
	}
	g.Id(t.GoName).Params(jen.Id("ctx").Op("*").Add(e.opQ("Ctx")), jen.Id("a").Op("*").Add(generic(t.GoName, e.typeArgs()))).Add(result)
}

// bind emits the function that gives a task its arguments.
func (e *emitter) bind(f *jen.File, t *model.Task) {
	comment(f, "bind%s gives the task %s its kernel and its arguments.", t.GoName, t.Name)
	fn := f.Func().Id("bind" + t.GoName)
	if tp := e.typeParams(t.Types); len(tp) > 0 {
		fn = fn.Types(tp...)
	}
	result := jen.Func().Params(jen.Op("*").Add(e.task("Accessor"))).Params(jen.Index().Add(e.opQ("Body")), jen.Error())
	fn.Params(jen.Id("k").Add(generic(e.kernelType(t), e.typeArgs()))).Add(result).Block(
		jen.Return(jen.Func().Params(jen.Id("acc").Op("*").Add(e.task("Accessor"))).Params(jen.Index().Add(e.opQ("Body")), jen.Error()).BlockFunc(func(g *jen.Group) {
			g.Id("d").Op(":=").Id("acc").Dot("Resolved").Dot("Dims").Assert(jen.Op("*").Id("Dims"))
			g.Id("a").Op(":=").Op("&").Add(generic(t.GoName, e.typeArgs())).ValuesFunc(func(g *jen.Group) {
				g.Line().Id("Attrs").Op(":").Id("acc").Dot("Attrs").Assert(jen.Id("Attrs"))
				g.Line().Id("Dims").Op(":").Op("*").Id("d")
				for _, p := range t.Params {
					g.Line().Id(p.GoName).Op(":").Add(e.get(p))
				}
				e.argValues(g, t)
				g.Line()
			})
			g.Return(jen.Index().Add(e.opQ("Body")).ValuesFunc(func(g *jen.Group) {
				for _, s := range t.Steps {
					if t.Returns != nil {
						place := e.task("StateTo").Types(e.goType(t.Returns)).Call(jen.Id("acc"), jen.Id("Slot"+t.Returns.GoName))
						g.Op("&").Add(generic(bodyType(s), e.typeArgs())).Values(jen.Id("k"), jen.Id("a"), place)
						continue
					}
					g.Op("&").Add(generic(bodyType(s), e.typeArgs())).Values(jen.Id("k"), jen.Id("a"))
				}
			}), jen.Id("acc").Dot("Err").Call())
		})),
	)
}

// get returns the call that makes the view of a parameter.
func (e *emitter) get(p *model.Param) *jen.Statement {
	_, get, optional := view(p)
	slot := jen.Id("Slot" + p.Slot.GoName)
	var v *jen.Statement
	switch {
	case p.Slot.Variadic:
		list := "List"
		if p.OnlyIf != nil {
			list = "ListIf"
		}
		v = e.task(list).Call(jen.Id("acc"), slot, e.task(get).Types(e.element(p.Slot), jen.Id("Slot")))
	case optional && p.Grad:
		v = e.task("OptionalGrad").Types(e.element(p.Slot)).Call(jen.Id("acc"), slot)
	case optional:
		v = e.task("Optional").Call(jen.Id("acc"), slot, e.task(get).Types(e.element(p.Slot), jen.Id("Slot")))
	default:
		v = e.task(get).Types(e.element(p.Slot)).Call(jen.Id("acc"), slot)
	}
	if p.Slot.Lane == "" || p.Perm == perm.Reduce {
		return v
	}
	dim := jen.Len(jen.Id("d").Dot(p.Slot.Lane))
	switch {
	case p.Slot.Variadic:
		return e.tensor("AlongEach").Call(v, dim)
	case optional:
		return e.tensor("Along").Call(v, dim)
	}
	return v.Dot("Along").Call(dim)
}

func bodyType(s *model.Step) string {
	return strings.ToLower(s.GoName[:1]) + s.GoName[1:] + "Body"
}

// body emits the type that runs a step: kernel and arguments, bound once.
func (e *emitter) body(f *jen.File, t *model.Task, s *model.Step) {
	decl := f.Type().Id(bodyType(s))
	if tp := e.typeParams(t.Types); len(tp) > 0 {
		decl = decl.Types(tp...)
	}
	decl.StructFunc(func(g *jen.Group) {
		g.Id("kernel").Add(generic(e.kernelType(t), e.typeArgs()))
		g.Id("args").Op("*").Add(generic(t.GoName, e.typeArgs()))
		if t.Returns != nil {
			g.Id("state").Add(e.task("StatePlace")).Types(e.goType(t.Returns))
		}
	})
	f.Line()
	if !t.Invoked() {
		e.stateBody(f, t, s)
		return
	}
	f.Func().Params(jen.Id("b").Op("*").Add(generic(bodyType(s), e.typeArgs()))).Id("Run").Params(jen.Id("ctx").Op("*").Add(e.opQ("Ctx")), jen.Id("r").Add(e.opQ("Range"))).Error().Block(
		jen.Return(jen.Id("b").Dot("kernel").Dot(s.GoName).Call(jen.Id("ctx"), jen.Id("b").Dot("args"), jen.Id("r"))))
}

// stateBody emits the methods of the body of a task that makes or frees per-device state.
func (e *emitter) stateBody(f *jen.File, t *model.Task, s *model.Step) {
	receiver := func() *jen.Statement {
		return f.Func().Params(jen.Id("b").Op("*").Add(generic(bodyType(s), e.typeArgs())))
	}
	call := func() *jen.Statement {
		return jen.Id("b").Dot("kernel").Dot(s.GoName).Call(jen.Id("ctx"), jen.Id("b").Dot("args"))
	}
	params := []jen.Code{jen.Id("ctx").Op("*").Add(e.opQ("Ctx")), jen.Id("_").Add(e.opQ("Range"))}
	if t.Returns == nil {
		receiver().Id("Run").Params(params...).Error().Block(jen.Return(call()))
		return
	}
	receiver().Id("Run").Params(params...).Error().Block(
		jen.List(jen.Id("state"), jen.Err()).Op(":=").Add(call()),
		jen.If(jen.Err().Op("==").Nil()).Block(jen.Id("b").Dot("state").Dot("Put").Call(jen.Id("state"))),
		jen.Return(jen.Err()))
}
