package emit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
)

// tasks emits task ids, argument structs, the interfaces of kernels, and the functions that register and bind
// tasks.
func (e *emitter) tasks() {
	o := e.op
	if len(o.Tasks) == 1 {
		e.comment("%sTask is the id of %s's task %s.", o.Tasks[0].GoName, o.Name, o.Tasks[0].Name)
		e.p("const %sTask task.ID = 0x%s", o.Tasks[0].GoName, o.Tasks[0].ID)
	} else {
		e.comment("The ids of %s's tasks.", o.Name)
		e.p("const (")
		for _, t := range o.Tasks {
			e.p("%sTask task.ID = 0x%s", t.GoName, t.ID)
		}
		e.p(")")
	}
	for _, t := range o.Tasks {
		e.p("")
		e.arguments(t)
	}
	names, tasks := e.kernelTypes()
	for _, name := range names {
		e.p("")
		e.kernel(name, tasks[name])
	}
	e.p("")
	e.register()
}

// typeParams returns the declaration of type parameters, such as [T dtype.Float], or "" if there are none.
func (e *emitter) typeParams(types []model.TypeVar) string {
	var out []string
	for _, v := range types {
		out = append(out, v.Name+" "+typeSet(v.Kernels()))
	}
	return bracketed(out)
}

// typeArgs returns the type parameters.
func (e *emitter) typeArgs() []string {
	var out []string
	for _, v := range e.op.Types {
		out = append(out, v.Name)
	}
	return out
}

// typeSet returns the constraint of a type parameter: a union of constraints in package dtype and of other
// types.
func typeSet(types []dtype.Type) string {
	rest := slices.Clone(types)
	var parts []string
	for _, c := range dtype.TypeSets() {
		if !slices.ContainsFunc(c.Types, func(t dtype.Type) bool { return !slices.Contains(rest, t) }) {
			parts = append(parts, "dtype."+c.Name)
			rest = slices.DeleteFunc(rest, func(t dtype.Type) bool { return slices.Contains(c.Types, t) })
		}
	}
	for _, t := range rest {
		parts = append(parts, t.GoType())
	}
	return strings.Join(parts, " | ")
}

// element returns the Go element type of a slot: the type parameter, or a fixed type.
func (e *emitter) element(s *model.Slot) string {
	if s.Var >= 0 {
		return e.op.Types[s.Var].Name
	}
	return s.Fixed.GoType()
}

// view returns the type of a task's view of a slot, and whether an Opt holds it.
func view(p *model.Param) (typ string, optional bool) {
	s := p.Slot
	switch {
	case p.Grad && p.Perm == perm.Read:
		return "RO", s.Optional
	case p.Grad && p.Scatter:
		return "Scatter", false
	case p.Grad:
		return "Grad", false
	case s.PerWorker:
		return "PerWorker", false
	}
	optional = s.Optional || p.OnlyIf != nil
	switch p.Perm {
	case perm.Read:
		return "RO", optional
	case perm.Write:
		return "WO", optional
	case perm.Reduce:
		return "Reduction", optional
	}
	return "RW", optional
}

func (e *emitter) viewType(p *model.Param) string {
	typ, optional := view(p)
	v := "tensor." + typ + "[" + e.element(p.Slot) + "]"
	switch {
	case p.Slot.Variadic:
		return "[]" + v
	case optional:
		return "tensor.Opt[" + v + "]"
	}
	return v
}

// arguments emits the struct of a task's arguments, which holds views of its slots.
func (e *emitter) arguments(t *model.Task) {
	doc := fmt.Sprintf("%s holds the arguments of the task %s.", t.GoName, t.Name)
	if t.Doc != "" {
		doc += " " + sentence(t.Doc)
	}
	e.comment("%s", doc)
	e.p("type %s%s struct {\nAttrs Attrs\nDims Dims", t.GoName, e.typeParams(t.Types))
	var rows []row
	for _, p := range t.Params {
		note := tensorsOf(p.Slot)
		if p.OnlyIf != nil {
			note = p.Slot.Type + p.Slot.Shape + ", given if " + p.IfText
		}
		code := p.GoName + "\t" + e.viewType(p)
		if p.Slot.Lane != "" && p.Perm != perm.Reduce { // an axis attribute binds a dimension
			code += fmt.Sprintf("\t`lanes:%q`", p.Slot.Lane)
		}
		rows = append(rows, row{code, note})
	}
	for _, a := range t.Args {
		if isField(a) {
			rows = append(rows, row{a.GoName + "\t" + e.argType(a), argDoc(a)})
		}
	}
	e.rows(rows)
	e.p("}")
	e.argMethods(t)
}

// kernelType returns the name of the interface that a task's kernel implements. A task for fewer element
// types than the operator's has an interface for itself, since kernels for the other types cannot have its
// methods.
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

// kernel emits the interface of a hand-written kernel.
func (e *emitter) kernel(name string, tasks []*model.Task) {
	if name == "Kernel" {
		doc := fmt.Sprintf("Kernel is the interface of hand-written kernels of %s.", e.op.Name)
		if e.op.CanDerive() {
			doc += fmt.Sprintf(" The formula runs unless there is one: a type %s in package %s.", e.op.GoName, path.Base(e.paths.Kernels))
		}
		e.comment("%s A method computes the indices r.Lo to r.Hi-1 of its step. Other ranges may run at the same time.", doc)
	} else {
		e.comment("%s is the interface of hand-written kernels of %s for the task %s, which exists for floating-point types only. Ranges are as in Kernel.", name, e.op.Name, tasks[0].Name)
	}
	e.p("type %s%s interface {", name, e.typeParams(tasks[0].Types))
	args := bracketed(e.typeArgs())
	for _, t := range tasks {
		switch {
		case t.Returns != nil:
			var names, types []string
			for _, s := range t.Returns {
				names, types = append(names, s.Name), append(types, e.goTypeName(s.Type))
			}
			what := "state "
			if len(names) > 1 {
				what = "states "
			}
			e.comment("%s makes the per-device %s. It runs when a plan is loaded.", t.GoName, what+strings.Join(names, " and "))
			e.p("%s(ctx *op.Ctx, a *%s%s) (%s, error)", t.GoName, t.GoName, args, strings.Join(types, ", "))
			continue
		case !t.Invoked():
			e.comment("%s frees what Init made. It runs when the plan is closed.", t.GoName)
			e.p("%s(ctx *op.Ctx, a *%s%s) error", t.GoName, t.GoName, args)
			continue
		}
		for _, s := range t.Steps {
			doc := fmt.Sprintf("%s runs over %s", s.GoName, s.Over)
			if s.Over == "1" {
				doc = s.GoName + " runs once"
			}
			if s.Loops {
				doc = s.GoName + " computes a share of the task: the part of its work that r is of all its indices"
			}
			if s.When != "" {
				doc += ", if " + s.When
			}
			if s.Doc != "" {
				doc += ": " + lowerFirst(s.Doc)
			}
			e.comment("%s", sentence(doc))
			e.p("%s(ctx *op.Ctx, a *%s%s, r op.Range) error", s.GoName, t.GoName, args)
		}
	}
	e.p("}")
}
