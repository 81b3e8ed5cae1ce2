package emit

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// generation is the version of the interface between generated code and package opimpl.
const generation = 4

// graph emits the operator's slots, the function that inserts it into graphs, the tensors of its tasks'
// invocations, and its description.
func (e *emitter) graph() {
	e.comment("This does not compile unless the runtime supports generation %d of generated code.", generation)
	e.p("const _ = opimpl.EnforceVersion(%d-opimpl.MinVersion) + opimpl.EnforceVersion(opimpl.MaxVersion-%[1]d)\n", generation)
	e.slots()
	switch e.op.Kind {
	case "operator":
		e.apply()
	case "optimizer":
		e.optimizer()
	}
	e.passing()
	for _, t := range e.op.Tasks {
		if t.Invoked() {
			e.invocation(t)
		}
	}
	e.p("")
	e.operator()
}

// operator emits the operator's description.
func (e *emitter) operator() {
	o := e.op
	fixed := func(text string) func(reflect.Value) string { return func(reflect.Value) string { return text } }
	decode := []string{strconv.Quote(o.FullName()), e.noAttrs()}
	for _, a := range required(o.Attrs) {
		decode = append(decode, strconv.Quote(a.Name))
	}
	l := &literals{slots: slotNames(o), fields: map[string]func(reflect.Value) string{
		"Operator.DecodeAttrs": fixed("opimpl.DecodeAttrs(" + strings.Join(decode, ", ") + ")"),
		"Operator.Resolve":     fixed("opimpl.Resolve(resolve)"),
		"Signature.Operator":   fixed(""),
		"Signature.ID":         func(sig reflect.Value) string { return goname.Exported(sig.FieldByName("Task").String()) + "Task" },
		"Signature.Returns": func(sig reflect.Value) string {
			var slots []string
			for _, slot := range sig.FieldByName("Returns").Interface().([]int) {
				slots = append(slots, "Slot"+slotNames(o)[slot])
			}
			if slots == nil {
				return ""
			}
			return "opimpl.Slots(" + strings.Join(slots, ", ") + ")"
		},
		"Arg.Type": func(arg reflect.Value) string {
			return e.goTypeName(o.Operator.Slots[arg.FieldByName("Slot").Int()].Type)
		},
	}}
	described := *o.Operator
	described.Signatures = nil
	for _, sig := range o.Signatures {
		s := *sig
		if slices.Equal(s.Steps, []task.Step{{}}) {
			s.Steps = nil // opimpl.New adds it
		}
		described.Signatures = append(described.Signatures, &s)
	}
	e.comment("Operator describes %s to graphs, engines and tools.", o.Name)
	e.p("var Operator = opimpl.New(graph.Operator{\nOperator: %s,", l.literal(reflect.ValueOf(described), true, tab, 3*tab))
	var inits []string
	for _, s := range o.Slots {
		if s.Init.Operator != "" {
			inits = append(inits, "Slot"+s.GoName+": "+e.initPkg(s)+".Operator")
		}
	}
	if inits != nil {
		e.p("Initializers: opimpl.Initializers(map[Slot]*graph.Operator{%s}),", strings.Join(inits, ", "))
	}
	e.p("})")
}

// tensors returns the Go type of the tensors that are bound to a slot.
func tensors(s *model.Slot) string {
	if s.Variadic {
		return "[]graph.Tensor"
	}
	return "graph.Tensor"
}

// made returns, as Go, the tensors of a slot of node n.
func made(s *model.Slot) string {
	if s.Variadic {
		return "opimpl.Tensors(n, Slot" + s.GoName + ")"
	}
	return "opimpl.Tensor(n, Slot" + s.GoName + ")"
}

// outputs returns the slots that Apply returns: outputs that are no auxiliary losses and that no option
// requests.
func outputs(o *model.Operator) []*model.Slot {
	var out []*model.Slot
	for _, s := range o.Slots {
		if s.Role == task.RoleOutput && (!s.OnRequest || s.Asked()) && !s.AuxLoss {
			out = append(out, s)
		}
	}
	return out
}

// applied is a parameter of Apply: an input, the number of tensors of an output, or an argument.
type applied struct {
	name, goName string
	typ          string // the type of the tensors or of the argument
	bind         string // the call that binds it
	typed        bool   // whether the parameter has a type that only it has
}

// applied returns the parameters of Apply. If there are several inputs, each has another type. Then a call
// with swapped inputs does not compile.
func (e *emitter) applied() []applied {
	var inputs, all []applied
	for _, s := range e.op.Inputs() {
		if s.Present == "caller" {
			continue // an option
		}
		inputs = append(inputs, applied{name: param(s.Name), goName: s.GoName, typ: tensors(s)})
	}
	for _, in := range inputs {
		in.typed = len(inputs) > 1
		v := in.name
		switch {
		case strings.HasPrefix(in.typ, "[]"):
			v += "..."
		case in.typed:
			v = "graph.Tensor(" + v + ")"
		}
		in.bind = fmt.Sprintf("Bind(Slot%s, %s)", in.goName, v)
		all = append(all, in)
	}
	for _, s := range e.op.Slots {
		if s.Asked() {
			name := param(s.Name)
			all = append(all, applied{name, s.GoName, "int", fmt.Sprintf("Ask(Slot%s, %s)", s.GoName, name), false})
		}
	}
	for _, a := range e.op.Passed() {
		if a.Default != "" { // an option passes it
			continue
		}
		name := param(a.Name)
		v := e.argType(a) + "(" + name + ")"
		if a.Variadic {
			v = "opimpl.Values(" + name + ")..."
		}
		all = append(all, applied{name, a.GoName, e.argType(a), fmt.Sprintf("BindArg(Slot%s, %s)", a.GoName, v), true})
	}
	return all
}

// apply emits the function that inserts the operator into a graph.
func (e *emitter) apply() {
	o := e.op
	var types []string
	params, insert := "", "opimpl.Insert[Slot](g, Operator, attrs, opts)"
	for _, a := range e.applied() {
		typ := a.typ
		if a.typed {
			types = append(types, a.goName+" "+a.typ)
			typ = a.goName
		}
		params += ", " + a.name + " " + typ
		insert += ".\n" + a.bind
	}
	insert += ".\nNode()"
	if strings.Count(insert, "\n") == 2 && len(insert) < width-4*tab {
		insert = strings.ReplaceAll(insert, "\n", "")
	}
	if len(types) > 0 {
		e.p("")
		e.comment("The inputs of Apply have different types, so calls with swapped inputs do not compile.")
		e.p("type (\n%s\n)", strings.Join(types, "\n"))
	}
	outs := outputs(o)
	doc := fmt.Sprintf("Apply inserts %s into g", o.Name)
	result, returned := returns(o), ""
	switch len(outs) {
	case 0:
	case 1:
		doc += fmt.Sprintf(" and returns its %s", outs[0].Name)
		returned = made(outs[0])
	default:
		doc += " and returns its outputs"
		var fields, values []string
		for _, s := range outs {
			fields = append(fields, s.GoName+" "+tensors(s))
			values = append(values, s.GoName+": "+made(s))
		}
		returned = "Outputs{" + list(values) + "}"
		e.p("")
		e.comment("Outputs are the outputs of %s.", o.Name)
		e.p("type Outputs struct {\n%s\n}", strings.Join(fields, "\n"))
	}
	e.p("")
	for _, s := range o.Slots {
		if s.Asked() {
			doc += fmt.Sprintf(", of which %s says how many tensors", param(s.Name))
		}
	}
	e.comment("%s. After an error, which g keeps, it returns no tensor.", doc)
	e.p("func Apply(g *graph.Graph, attrs Attrs%s, opts ...graph.Option) %s {", params, result)
	if result == "" {
		e.p("%s\n}", insert)
	} else {
		e.p("n := %s\nreturn %s\n}", insert, returned)
	}
}

// returns returns the Go type of what Apply returns, or "" if it returns nothing.
func returns(o *model.Operator) string {
	switch outs := outputs(o); len(outs) {
	case 0:
		return ""
	case 1:
		return tensors(outs[0])
	default:
		return "Outputs"
	}
}

// param returns the name of the parameter that takes a slot's tensor.
func param(slot string) string {
	return local(slot, "g", "n", "attrs", "opts", "int", "graph", "opimpl", "task")
}

// passing emits, for each argument with a default, the function that returns the option which passes another
// value.
func (e *emitter) passing() {
	for _, a := range e.op.Passed() {
		if a.Default == "" {
			continue
		}
		doc := fmt.Sprintf("With%s returns the option that passes %s, which is %s by default", a.GoName, a.Name, a.DefaultText())
		if a.Doc != "" {
			doc += ": " + lowerFirst(line(a.Doc))
		}
		e.p("")
		e.comment("%s", sentence(doc))
		e.p("func With%s(value %s) graph.Option { return graph.Pass(Slot%[1]s, value) }", a.GoName, e.argType(a))
	}
}

// optimizer emits the function that makes a graph.Optimizer.
func (e *emitter) optimizer() {
	params, passed := "", ""
	var types []string
	for _, a := range e.op.Passed() {
		if a.Default != "" {
			continue
		}
		name := param(a.Name)
		v := e.argType(a) + "(" + name + ")"
		if a.Variadic {
			v = "opimpl.Values(" + name + ")..."
		}
		types = append(types, a.GoName+" "+e.argType(a))
		params += ", " + name + " " + a.GoName
		passed += fmt.Sprintf(",\nopimpl.Pass(Slot%s, %s)", a.GoName, v)
	}
	if types != nil {
		e.p("")
		e.comment("What the caller of Optimizer passes has different types, so calls with swapped values do not compile.")
		e.p("type (\n%s\n)", strings.Join(types, "\n"))
	}
	e.p("")
	e.comment("Optimizer returns the optimizer that inserts %s with the options for every weight.", e.op.Name)
	e.p("func Optimizer(attrs Attrs%s, opts ...graph.Option) graph.Optimizer {", params)
	e.p("return opimpl.Optimizer(Operator, attrs, SlotWeight, SlotGrad, opts%s)\n}", passed)
}

// invocation emits the tensors to which a task is bound, by name, and the method that binds it.
func (e *emitter) invocation(t *model.Task) {
	var names, types []string
	for _, p := range t.Params {
		if p.Perm != perm.Scratch {
			typ := tensors(p.Slot)
			if p.Grad {
				typ = strings.Replace(typ, "Tensor", "Gradient", 1)
			}
			names, types = append(names, p.GoName), append(types, typ)
		}
	}
	for _, a := range t.Args {
		if a.Source == task.FromCall && a.Default == "" {
			names, types = append(names, a.GoName), append(types, e.argType(a))
		}
	}
	result, call, more := "OpenInvocation", "Open", ""
	if t.Constraints.Declared {
		result, call, more = "Invocation", "Invoke", " The task declares its constraints, so none can be added."
	}
	name := t.GoName + "Tensors"
	e.p("")
	e.comment("%s are the tensors of the task %s. Absent and unused ones are zero.", name, t.Name)
	e.p("type %s struct {", name)
	for i, n := range names {
		if i+1 < len(names) && types[i+1] == types[i] {
			e.text.WriteString(n + ", ")
		} else {
			e.p("%s %s", n, types[i])
		}
	}
	e.p("}\n")
	e.comment("Invoke binds the task %s of node n. It returns an error if a tensor does not fit its slot.%s", t.Name, more)
	e.p("func (t %s) Invoke(n *graph.Node) (*graph.%s, error) {", name, result)
	e.p("return opimpl.%s(n, task.Kind%s, t)\n}", call, goname.Exported(t.Kind.String()))
}
