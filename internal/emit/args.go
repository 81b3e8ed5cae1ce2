package emit

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// splitType splits the Go type of an argument into its stars and brackets, its package and its name.
func splitType(t string) (prefix, pkg, name string) {
	name = strings.TrimLeft(t, "*[]")
	prefix = t[:len(t)-len(name)]
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		pkg, name = name[:i], name[i+1:]
	}
	return prefix, pkg, name
}

// goTypeName returns, as Go, a type that a spec writes with the import path of its package.
func (e *emitter) goTypeName(t string) string {
	prefix, pkg, name := splitType(t)
	if pkg == "" {
		return prefix + name
	}
	return prefix + e.importAs(pkg) + "." + name
}

// argType returns the Go type of an argument. A variadic argument is a list of values.
func (e *emitter) argType(a *model.Arg) string {
	if a.Variadic {
		return "[]" + e.goTypeName(a.Type)
	}
	return e.goTypeName(a.Type)
}

// argDoc returns the comment on an argument.
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
		if a.Default != "" {
			doc += fmt.Sprintf(", %s by default", a.DefaultText())
		}
	case task.FromInit:
		doc += ", which init makes"
	default:
		doc += " from " + a.From
	}
	if a.Doc != "" {
		doc += ": " + lowerFirst(line(a.Doc))
	}
	return doc
}

// isField reports whether the struct of a task's arguments has a field for an argument. The iteration differs
// from run to run, so it is a method. Every task has a field Attrs, so an argument of that name adds none.
func isField(a *model.Arg) bool {
	return a.Source != task.FromIteration && !(a.Source == task.FromAttrs && a.GoName == "Attrs")
}

// argMethods emits the methods for the arguments that differ from run to run.
func (e *emitter) argMethods(t *model.Task) {
	for _, a := range t.Args {
		if a.Source != task.FromIteration {
			continue
		}
		doc := ""
		if a.Doc != "" {
			doc = ": " + lowerFirst(strings.TrimRight(a.Doc, "."))
		}
		e.p("")
		e.comment("%s returns the argument %s%s.", a.GoName, a.Name, doc)
		e.p("func (*%s%s) %s(ctx *op.Ctx) int { return int(ctx.Step) }", t.GoName, bracketed(e.typeArgs()), a.GoName)
	}
}
