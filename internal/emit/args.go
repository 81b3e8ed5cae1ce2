package emit

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// plainPackage matches the last part of an import path that is, as a rule, the package's name.
var plainPackage = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

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

// argType is goType or, of a variadic argument, the type of the list of its values.
func (e *emitter) argType(a *model.Arg) *jen.Statement {
	if a.Variadic {
		return jen.Index().Add(e.goType(a))
	}
	return e.goType(a)
}

// nameTypes tells jennifer the names of the packages from which arguments have types.
func (e *emitter) nameTypes(f *jen.File) {
	if e.op == nil {
		return
	}
	for _, a := range e.op.Args {
		if _, pkg, _ := splitType(a.Type); plainPackage.MatchString(path.Base(pkg)) && strings.Contains(pkg, "/") {
			f.ImportName(pkg, path.Base(pkg))
		}
	}
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
	case task.FromExpr:
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

// argList emits the arguments of a task's signature.
func (e *emitter) argList(t *model.Task) func(*jen.Group) {
	return func(g *jen.Group) {
		for _, a := range t.Args {
			g.Line().ValuesFunc(func(g *jen.Group) {
				g.Id("Slot").Op(":").Int().Call(jen.Id("Slot" + a.GoName))
				g.Id("Type").Op(":").Qual("reflect", "TypeFor").Types(e.goType(a)).Call()
				g.Id("From").Op(":").Add(e.task(sourceConsts[a.Source]))
				if a.Of != nil {
					g.Id("Of").Op(":").Int().Call(jen.Id("Slot" + a.Of.GoName))
				}
				if a.Unchecked {
					g.Id("Unchecked").Op(":").True()
				}
			})
		}
		g.Line()
	}
}

var sourceConsts = map[task.Source]string{
	task.FromExpr: "FromExpr", task.FromAttrs: "FromAttrs", task.FromShape: "FromShape", task.FromIteration: "FromIteration",
	task.FromProfiling: "FromProfiling", task.FromHandle: "FromHandle", task.FromInit: "FromInit", task.FromCall: "FromCall",
}

// argSlot emits the description of an argument's slot.
func (e *emitter) argSlot(a *model.Arg) *jen.Statement {
	return jen.ValuesFunc(func(g *jen.Group) {
		g.Id("Name").Op(":").Lit(a.Name)
		role := "RoleArgument"
		if a.State() {
			role = "RoleState"
		}
		g.Id("Role").Op(":").Add(e.task(role))
		g.Id("Type").Op(":").Lit(a.Type)
		if a.Variadic {
			g.Id("Variadic").Op(":").True()
			if a.Min > 0 {
				g.Id("Min").Op(":").Lit(a.Min)
			}
			g.Id("Max").Op(":").Add(e.limit(a.Max))
		}
	})
}

// limit returns the upper limit of a variadic slot.
func (e *emitter) limit(n int) *jen.Statement {
	if n == task.Unbounded {
		return e.task("Unbounded")
	}
	return jen.Lit(n)
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

// constraintsValue returns the constraints of a task's signature.
func (e *emitter) constraintsValue(t *model.Task) *jen.Statement {
	return e.task("Constraints").ValuesFunc(func(g *jen.Group) {
		g.Id("Declared").Op(":").True()
		if len(t.Constraints.List) == 0 {
			return
		}
		g.Id("List").Op(":").Index().Add(e.partition("Constraint")).ValuesFunc(func(g *jen.Group) {
			for _, c := range t.Constraints.List {
				g.Line().Add(e.constraintValue(c))
			}
			g.Line()
		})
	})
}

func (e *emitter) constraintValue(c partition.Constraint) *jen.Statement {
	return jen.ValuesFunc(func(g *jen.Group) {
		g.Id("Kind").Op(":").Add(e.partition(goname.Exported(c.Kind.String())))
		g.Id("Terms").Op(":").Index().Add(e.partition("Term")).ValuesFunc(func(g *jen.Group) {
			for _, t := range c.Terms {
				if t.Index == partition.All {
					g.Add(e.partition("Whole")).Call(jen.Lit(t.Name))
				} else {
					g.Add(e.partition("At")).Call(jen.Lit(t.Name), jen.Lit(t.Index))
				}
			}
		})
		for _, l := range []struct {
			name string
			list []int
		}{{"Axes", c.Axes}, {"Extents", c.Extents}, {"Factors", c.Factors}, {"Low", c.Low}, {"High", c.High}} {
			if l.list == nil {
				continue
			}
			g.Id(l.name).Op(":").Index().Int().ValuesFunc(func(g *jen.Group) {
				for _, n := range l.list {
					g.Lit(n)
				}
			})
		}
		if c.Hint != partition.NoHint {
			g.Id("Hint").Op(":").Add(e.partition(goname.Exported(c.Hint.String())))
		}
	})
}
