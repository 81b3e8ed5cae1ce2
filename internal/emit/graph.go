package emit

import (
	"fmt"
	"reflect"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// graph emits the operator's description, the function that inserts it into graphs, and the typed
// invocations of its tasks.
func (e *emitter) graph(f *jen.File) {
	o := e.op
	e.operator(f)
	f.Line()
	e.tensorTypes(f)
	switch o.Kind {
	case "operator":
		f.Line()
		e.apply(f)
	case "optimizer":
		f.Line()
		e.optimizer(f)
	}
	for _, t := range o.Tasks {
		if !t.Invoked() {
			continue
		}
		f.Line()
		e.invoke(f, t)
		f.Line()
		e.invokeNode(f, t)
	}
}

// operator emits the operator's description.
func (e *emitter) operator(f *jen.File) {
	o := e.op
	l := &literals{fields: map[string]func(reflect.Value) string{
		"Operator.DecodeAttrs": func(reflect.Value) string { return "decodeAttrs" },
		"Operator.Resolve":     func(reflect.Value) string { return "resolve" },
		"Signature.Operator":   func(reflect.Value) string { return "" },
		"Signature.ID": func(sig reflect.Value) string {
			return goname.Exported(sig.FieldByName("Task").String()) + "Task"
		},
		"Arg.Type": func(arg reflect.Value) string {
			return "reflect.TypeFor[" + e.goTypeName(o.Operator.Slots[arg.FieldByName("Slot").Int()].Type) + "]()"
		},
	}}
	_, l.slots, _ = slotNames(o)
	inits := ""
	for _, s := range o.Slots {
		if s.Init.Operator != "" {
			inits += fmt.Sprintf("int(Slot%s): %s.Operator,\n", s.GoName, goname.Package(s.Init.Operator))
		}
	}
	if inits != "" {
		inits = "Initializers: map[int]*graph.Operator{\n" + inits + "},\n"
	}
	invoke := "Invoke: " + invokeNodeName(o.Main()) + ",\n"
	if b := o.Task(task.KindBackward); b != nil {
		invoke += "Backward: " + invokeNodeName(b) + ",\n"
	}
	f.Id(fmt.Sprintf(`
// Operator describes %s to graphs, engines and tools.
var Operator = graph.NewOperator(graph.Operator{
Operator: %s,
%s%s})`, o.Name, l.literal(reflect.ValueOf(*o.Operator), true, tab, 3*tab), invoke, inits))
}

// tensorTypes emits a type for each slot, so that tensors cannot be swapped.
func (e *emitter) tensorTypes(f *jen.File) {
	what := "tensors"
	if len(e.op.Passed()) > 0 {
		what = "tensors and values"
	}
	comment(f, "Each slot has a type of its own, so that %s can be neither swapped nor left out.", what)
	f.Type().DefsFunc(func(g *jen.Group) {
		seen := map[string]bool{}
		for _, t := range e.op.Tasks {
			for _, p := range t.Params {
				if p.Perm == perm.Scratch || seen[p.GoName] {
					continue
				}
				seen[p.GoName] = true
				what := "the slot " + p.Name
				if p.Grad {
					what = "the gradient of " + p.Name
				}
				if p.Slot.Variadic {
					comment(g, "%s are tensors for %s.", p.GoName, what)
				} else {
					comment(g, "%s is a tensor for %s.", p.GoName, what)
				}
				g.Id(p.GoName).Add(e.tensors(p.Slot))
			}
		}
		for _, a := range e.op.Passed() {
			what := "is the value"
			if a.Variadic {
				what = "are the values"
			}
			comment(g, "%s %s of the argument %s.", a.GoName, what, a.Name)
			g.Id(a.GoName).Add(e.argType(a))
		}
	})
}

// tensors returns the type of what is bound to a slot: a tensor, or several.
func (e *emitter) tensors(s *model.Slot) *jen.Statement {
	if s.Variadic {
		return jen.Index().Add(e.graphQ("Tensor"))
	}
	return e.graphQ("Tensor")
}

// outputs returns the slots that Apply returns: outputs that are always wanted.
func outputs(o *model.Operator) []*model.Slot {
	var out []*model.Slot
	for _, s := range o.Slots {
		if s.Role == task.RoleOutput && !s.OnRequest && !s.AuxLoss {
			out = append(out, s)
		}
	}
	return out
}

// apply emits the function that inserts the operator into a graph.
func (e *emitter) apply(f *jen.File) {
	o := e.op
	outs := outputs(o)
	if len(outs) > 1 {
		comment(f, "Outputs are the outputs of %s.", o.Name)
		f.Type().Id("Outputs").StructFunc(func(g *jen.Group) {
			var names []jen.Code
			for _, s := range outs {
				if !s.Variadic {
					names = append(names, jen.Id(s.GoName))
				}
			}
			if len(names) > 0 {
				g.List(names...).Add(e.graphQ("Tensor"))
			}
			for _, s := range outs {
				if s.Variadic {
					g.Id(s.GoName).Add(e.tensors(s))
				}
			}
		})
		f.Line()
	}
	doc := fmt.Sprintf("Apply inserts %s into g", o.Name)
	if len(outs) == 1 {
		doc += fmt.Sprintf(" and returns its %s", outs[0].Name)
	} else if len(outs) > 1 {
		doc += " and returns its outputs"
	}
	doc += ". After a mistake, which g keeps, it returns no tensor."
	comment(f, "%s", doc)
	necessary := 0
	for _, s := range o.Inputs() {
		if s.Present != "caller" {
			necessary++
		}
	}
	fn := f.Func().Id("Apply").ParamsFunc(func(g *jen.Group) {
		g.Id("g").Op("*").Add(e.graphQ("Graph"))
		g.Id("attrs").Id("Attrs")
		for _, s := range o.Inputs() {
			switch {
			case s.Present == "caller":
			case necessary == 1:
				g.Id(param(s.Name)).Add(e.tensors(s))
			default:
				g.Id(param(s.Name)).Id(s.GoName)
			}
		}
		for _, a := range o.Passed() {
			g.Id(param(a.Name)).Id(a.GoName)
		}
		g.Id("opts").Op("...").Add(e.graphQ("Option"))
	})
	insert := e.graphQ("Insert").Types(jen.Id("Slot")).Call(jen.Id("g"), jen.Lit(1), jen.Id("Operator"), jen.Id("attrs"), jen.Id("opts").Op("..."))
	for _, s := range o.Inputs() {
		if s.Present == "caller" {
			continue
		}
		v := jen.Id(param(s.Name))
		switch {
		case s.Variadic:
			v = v.Op("...")
		case necessary > 1:
			v = e.graphQ("Tensor").Call(v)
		}
		insert = insert.Op(".").Line().Id("Bind").Call(jen.Id("Slot"+s.GoName), v)
	}
	for _, a := range o.Passed() {
		insert = insert.Op(".").Line().Id("BindArg").Call(jen.Id("Slot"+a.GoName), e.argValue(a, jen.Id(param(a.Name))))
	}
	insert = insert.Op(".").Line().Id("Node").Call()
	switch len(outs) {
	case 0:
		fn.Block(insert)
	case 1:
		fn.Add(e.tensors(outs[0])).Block(
			jen.Id("n").Op(":=").Add(insert),
			jen.Return(nodeTensor(outs[0])))
	default:
		fn.Id("Outputs").Block(
			jen.Id("n").Op(":=").Add(insert),
			jen.Return(jen.Id("Outputs").ValuesFunc(func(g *jen.Group) {
				for _, s := range outs {
					g.Id(s.GoName).Op(":").Add(nodeTensor(s))
				}
			})))
	}
}

// param returns the name of the parameter that takes a slot's tensor.
func param(slot string) string { return local(slot, "g", "n", "attrs", "opts", "int", "graph", "task") }

func nodeTensor(s *model.Slot) *jen.Statement {
	return jen.Id("n").Dot("Tensor" + plural(s)).Call(jen.Int().Call(jen.Id("Slot" + s.GoName)))
}

// plural is the end of the names of methods that concern the tensors of a variadic slot.
func plural(s *model.Slot) string {
	if s.Variadic {
		return "s"
	}
	return ""
}

// optimizer emits the function that makes a graph.Optimizer.
func (e *emitter) optimizer(f *jen.File) {
	o := e.op
	comment(f, "Optimizer returns the optimizer that inserts %s for every weight.", o.Name)
	f.Func().Id("Optimizer").Params(jen.Id("attrs").Id("Attrs")).Add(e.graphQ("Optimizer")).Block(
		jen.Return(jen.Func().Params(jen.Id("g").Op("*").Add(e.graphQ("Graph")), jen.List(jen.Id("weight"), jen.Id("grad")).Add(e.graphQ("Tensor"))).BlockFunc(func(g *jen.Group) {
			insert := e.graphQ("Insert").Types(jen.Id("Slot")).Call(jen.Id("g"), jen.Lit(1), jen.Id("Operator"), jen.Id("attrs"),
				e.graphQ("Named").Call(jen.Id("weight").Dot("Name").Call().Op("+").Lit("."+o.Name)))
			for _, s := range o.Inputs() {
				v := "weight"
				if s.Name == "grad" {
					v = "grad"
				}
				insert = insert.Op(".").Line().Id("Bind").Call(jen.Id("Slot"+s.GoName), jen.Id(v))
			}
			g.Add(insert.Op(".").Line().Id("Node").Call())
		})))
}

// invoke emits the typed invocation of a task: complete, or it does not compile.
func (e *emitter) invoke(f *jen.File, t *model.Task) {
	doc := fmt.Sprintf("Invoke%s binds the task %s of node n. A slot that is absent, or a gradient that nobody wants, gets the zero tensor.", t.GoName, t.Name)
	result, finish := "OpenInvocation", "Open"
	switch {
	case t.Constraints.Declared && len(t.Constraints.List) == 0:
		doc += " The task has no constraints, and none can be added."
		result, finish = "Invocation", "Invocation"
	case t.Constraints.Declared:
		doc += " The task declares its constraints, so none can be added."
		result, finish = "Invocation", "Invocation"
	}
	comment(f, "%s", doc)
	binding := e.graphQ("NewBinding").Types(jen.Id("Slot")).Call(jen.Id("n"), e.task(kindConst(t.Kind)))
	f.Func().Id("Invoke"+t.GoName).ParamsFunc(func(g *jen.Group) {
		g.Id("n").Op("*").Add(e.graphQ("Node"))
		for _, p := range t.Params {
			if p.Perm != perm.Scratch {
				g.Id(param(p.GoName)).Id(p.GoName)
			}
		}
		for _, a := range passedArgs(t) {
			g.Id(param(a.GoName)).Id(a.GoName)
		}
	}).Params(jen.Op("*").Add(e.graphQ(result)), jen.Error()).BlockFunc(func(g *jen.Group) {
		for _, p := range t.Params {
			if p.Perm == perm.Scratch {
				continue
			}
			method := "Bind"
			if p.Grad {
				method = "BindGrad"
			}
			v := e.graphQ("Tensor").Call(jen.Id(param(p.GoName)))
			if p.Slot.Variadic {
				v = jen.Id(param(p.GoName)).Op("...")
			}
			binding = binding.Op(".").Line().Id(method).Call(jen.Id("Slot"+p.Slot.GoName), v)
		}
		for _, a := range passedArgs(t) {
			binding = binding.Op(".").Line().Id("BindArg").Call(jen.Id("Slot"+a.GoName), e.argValue(a, jen.Id(param(a.GoName))))
		}
		g.Return(binding.Op(".").Line().Id(finish).Call())
	})
}

func invokeNodeName(t *model.Task) string { return goname.Local(t.Name) + "Of" }

// invokeNode emits the function that binds a task to a node's own tensors.
func (e *emitter) invokeNode(f *jen.File, t *model.Task) {
	comment(f, "%s binds the task %s to the tensors of node n.", invokeNodeName(t), t.Name)
	x := &exprs{e}
	var conds []expr.Node
	for _, p := range t.Params {
		if p.OnlyIf != nil {
			conds = append(conds, p.OnlyIf)
		}
	}
	var axes []*model.Attr
	for _, a := range e.op.Attrs {
		if a.Axis != nil && a.Axis.Binds == "" && !a.Optional && uses(ofAttr(a.Name), conds...) {
			axes = append(axes, a)
		}
	}
	f.Func().Id(invokeNodeName(t)).Params(jen.Id("n").Op("*").Add(e.graphQ("Node"))).Params(jen.Op("*").Add(e.graphQ("Invocation")), jen.Error()).BlockFunc(func(g *jen.Group) {
		if uses(ofClass(expr.Attr), conds...) {
			g.Id("a").Op(":=").Id("n").Dot("Attrs").Assert(jen.Id("Attrs"))
		}
		resolved := jen.Id("n").Dot("Resolved")
		if len(axes) > 0 || uses(needsResolution, conds...) {
			g.Id("r").Op(":=").Add(resolved)
			resolved = jen.Id("r")
		}
		if uses(e.needsDims, conds...) {
			g.Id("d").Op(":=").Add(resolved).Dot("Dims").Assert(jen.Op("*").Id("Dims"))
		}
		for _, a := range axes {
			g.Id(e.axisVar(a)).Op(":=").Add(e.checkAxis(a, jen.Id("a").Dot(a.GoName)))
		}
		call := jen.Id("Invoke" + t.GoName).CallFunc(func(g *jen.Group) {
			g.Id("n")
			for _, p := range t.Params {
				if p.Perm == perm.Scratch {
					continue
				}
				slot := jen.Int().Call(jen.Id("Slot" + p.Slot.GoName))
				v := nodeTensor(p.Slot)
				if p.Grad {
					v = jen.Id("n").Dot("Grad" + plural(p.Slot)).Call(slot)
				} else if p.OnlyIf != nil {
					v = jen.Id("n").Dot("Tensor"+plural(p.Slot)+"If").Call(x.code(p.OnlyIf, 0), slot)
				}
				g.Line().Id(p.GoName).Call(v)
			}
			for _, a := range passedArgs(t) {
				get := "Value"
				if a.Variadic {
					get = "Values"
				}
				g.Line().Id(a.GoName).Call(e.graphQ(get).Types(e.goType(a)).Call(jen.Id("n"), jen.Id("Slot"+a.GoName)))
			}
			g.Line()
		})
		if !t.Constraints.Declared {
			call = e.graphQ("Close").Call(call)
		}
		g.Return(call)
	})
}
