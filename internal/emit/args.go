package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// splitType splits the Go type of an argument: what stands before it, its package and its name.
func splitType(t string) (prefix, pkg, name string) {
	name = strings.TrimLeft(t, "*[]")
	prefix = t[:len(t)-len(name)]
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		pkg, name = name[:i], name[i+1:]
	}
	return prefix, pkg, name
}

// goType returns the Go type of one value of an argument.
func (e *emitter) goType(a *model.Arg) *jen.Statement {
	prefix, pkg, name := splitType(a.Type)
	s := jen.Op(prefix)
	switch pkg {
	case "":
		return s.Id(name)
	case "task", "partition":
		return s.Qual(e.rt(pkg), name)
	}
	return s.Qual(pkg, name)
}

// goTypeName returns a Go type, as a spec writes it, in Go: with the name of its package rather than the path.
func (e *emitter) goTypeName(t string) string {
	prefix, pkg, name := splitType(t)
	if pkg == "" {
		return prefix + name
	}
	return prefix + e.importAs(pkg) + "." + name
}

// argType is goType or, of a variadic argument, the type of the list of its values.
func (e *emitter) argType(a *model.Arg) *jen.Statement {
	if a.Variadic {
		return jen.Index().Add(e.goType(a))
	}
	return e.goType(a)
}

// argDoc says what an argument is.
func argDoc(a *model.Arg) string {
	kind := "an argument"
	if a.State() {
		kind = "per-device state"
	}
	if a.Variadic {
		kind = "a variadic argument"
	}
	doc := fmt.Sprintf("%s, %s", kind, a.Type)
	switch a.Source {
	case task.FromExpression:
		doc += " = " + a.From
	case task.FromCall:
		doc += ", which the caller passes"
	case task.FromInit:
		doc += ", which init makes"
	default:
		doc += " from " + a.From
	}
	if a.Doc != "" {
		doc += ": " + lowerFirst(a.Doc)
	}
	return doc
}

// isField reports whether an argument is a field of its own in the struct of a task's arguments. The
// iteration, which differs from run to run, is a method, and attributes always are a field.
func isField(a *model.Arg) bool {
	return a.Source != task.FromIteration && !(a.Source == task.FromAttrs && a.GoName == "Attrs")
}

// argFields emits the fields of a task's arguments.
func (e *emitter) argFields(g *jen.Group, t *model.Task) {
	for _, a := range t.Args {
		if !isField(a) {
			continue
		}
		comment(g, "%s is %s", a.GoName, sentence(argDoc(a)))
		g.Id(a.GoName).Add(e.argType(a))
	}
}

// argMethods emits the methods for the arguments that are no fields.
func (e *emitter) argMethods(f *jen.File, t *model.Task) {
	for _, a := range t.Args {
		if a.Source != task.FromIteration {
			continue
		}
		f.Line()
		doc := ""
		if a.Doc != "" {
			doc = ": " + lowerFirst(strings.TrimRight(a.Doc, "."))
		}
		comment(f, "%s returns the argument %s%s.", a.GoName, a.Name, doc)
		f.Func().Params(jen.Op("*").Add(generic(t.GoName, e.typeArgs()))).Id(a.GoName).Params(jen.Id("ctx").Op("*").Add(e.opQ("Ctx"))).Int().Block(
			jen.Return(jen.Int().Call(jen.Id("ctx").Dot("Step"))))
	}
}

// argValues emits the values of the fields of argFields.
func (e *emitter) argValues(g *jen.Group, t *model.Task) {
	for _, a := range t.Args {
		if !isField(a) {
			continue
		}
		get := "Argument"
		switch {
		case a.Variadic:
			get = "Arguments"
		case a.State():
			get = "StateOf"
		}
		g.Line().Id(a.GoName).Op(":").Add(e.task(get)).Types(e.goType(a)).Call(jen.Id("acc"), jen.Id("Slot"+a.GoName))
	}
}

// setArgs emits the statements that work out arguments from expressions.
func (e *emitter) setArgs(g *jen.Group, x *exprs) {
	for _, a := range e.op.Args {
		if a.Expr == nil {
			continue
		}
		v := x.code(a.Expr, 0)
		if a.Type == "float64" {
			v = jen.Float64().Call(v)
		}
		g.Add(e.task("SetArg")).Call(jen.Id("r"), jen.Id("Slot"+a.GoName), v)
	}
}

// passedArgs returns the arguments of a task that its caller passes.
func passedArgs(t *model.Task) []*model.Arg {
	var out []*model.Arg
	for _, a := range t.Args {
		if a.Source == task.FromCall {
			out = append(out, a)
		}
	}
	return out
}

// argValue returns the values of an argument as BindArg takes them, given one of the argument's type.
func (e *emitter) argValue(a *model.Arg, v *jen.Statement) *jen.Statement {
	if a.Variadic {
		return e.graphQ("AnyValues").Call(e.argType(a).Parens(v)).Op("...")
	}
	return jen.Parens(e.goType(a)).Parens(v)
}
