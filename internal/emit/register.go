package emit

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
)

// variants returns all combinations of element types. Each has one type for each dtype variable.
func variants(vars []model.TypeVar) [][]dtype.Type {
	all := [][]dtype.Type{nil}
	for _, v := range vars {
		var next [][]dtype.Type
		for _, prefix := range all {
			for _, t := range v.Kernels() {
				next = append(next, append(append([]dtype.Type{}, prefix...), t))
			}
		}
		all = next
	}
	return all
}

// registered is a kernel that an operator needs.
type registered struct {
	kind  string // the interface that it implements
	types []dtype.Type
}

// registeredKernels returns all kernels that an operator needs, in order.
func (e *emitter) registeredKernels() []registered {
	names, tasks := e.kernelTypes()
	var all []registered
	for _, kind := range names {
		for _, v := range variants(tasks[kind][0].Types) {
			all = append(all, registered{kind, v})
		}
	}
	return all
}

// variantName returns the name of the method of a set of kernels that returns a kernel: F32, or F32I64, or
// F32ToI64 if no input has the second type.
func variantName(o *model.Operator, k registered) string {
	s := ""
	for i, t := range k.types {
		if i > 0 && len(o.Types[i].From) > 0 {
			s += "To"
		}
		if t == dtype.String {
			s += "Text" // a method String is expected to be that of fmt.Stringer
		} else {
			s += goname.Exported(t.String())
		}
	}
	if k.kind == "Kernel" && s == "" {
		return "Kernel"
	}
	return s + strings.TrimSuffix(k.kind, "Kernel")
}

// typeList returns element types as type arguments, such as [float32, int64], or "" if there are none.
func typeList(types []dtype.Type) string {
	var args []string
	for _, t := range types {
		args = append(args, t.GoType())
	}
	return bracketed(args)
}

func bracketed(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return "[" + strings.Join(args, ", ") + "]"
}

// register emits the function that registers the tasks of an operator with a set of kernels. The function is
// generic, and the set has no interface of its own: otherwise the package compiles the arguments of all its
// kernels, also for programs that run its formula.
func (e *emitter) register() {
	o := e.op
	names, tasks := e.kernelTypes()
	kernels := e.registeredKernels()
	e.comment("Register adds the tasks of %s and their kernels for a target to r. Kernels has a method for each combination of element types.", o.Name)
	e.p("func Register[Kernels interface {")
	var calls []string
	for _, k := range kernels {
		e.p("%s() %s%s", variantName(o, k), k.kind, typeList(k.types))
		calls = append(calls, fmt.Sprintf("with%s(k.%s())", k.kind, variantName(o, k)))
	}
	e.p("}](r *task.Registry, target op.Target, k Kernels) error {")
	if len(calls) > 3 {
		e.p("return opimpl.Register(r, Operator, target,\n%s,\n)\n}", strings.Join(calls, ",\n"))
	} else {
		e.p("return opimpl.Register(r, Operator, target, %s)\n}", strings.Join(calls, ", "))
	}
	for _, kind := range names {
		list := tasks[kind]
		args := e.typeArgs()
		var types []string
		for _, a := range args {
			types = append(types, "dtype.Of["+a+"]()")
		}
		variant := "nil"
		if types != nil {
			variant = "[]dtype.Type{" + strings.Join(types, ", ") + "}"
		}
		e.p("\nfunc with%s%s(k %s%s) opimpl.Variant {", kind, e.typeParams(list[0].Types), kind, bracketed(args))
		e.p("return opimpl.NewVariant(k, %s,", variant)
		for _, t := range list {
			e.p("%s,", e.binding(t))
		}
		e.p(")\n}")
	}
}

// binding returns the call that binds a task to the methods of a kernel.
func (e *emitter) binding(t *model.Task) string {
	args := bracketed(e.typeArgs())
	kernel := e.kernelType(t) + args
	if t.Returns != nil {
		var values []string
		for i := range t.Returns {
			values = append(values, fmt.Sprint("state", i))
		}
		list := strings.Join(values, ", ")
		return fmt.Sprintf("opimpl.InitStep(%[1]sTask, k, func(k %[2]s, ctx *op.Ctx, a *%[1]s%[3]s) ([]any, error) {\n"+
			"%[4]s, err := k.%[1]s(ctx, a)\nreturn []any{%[4]s}, err\n})", t.GoName, kernel, args, list)
	}
	if !t.Invoked() {
		return fmt.Sprintf("opimpl.CleanupStep(%[1]sTask, k, %[2]s.%[1]s)", t.GoName, kernel)
	}
	call := fmt.Sprintf("opimpl.Steps(%sTask, k", t.GoName)
	for _, s := range t.Steps {
		call += fmt.Sprintf(", %s.%s", kernel, s.GoName)
	}
	call += ")"
	var folds []string
	for _, p := range t.Params {
		pkg, function, _, own := p.Redop.Own()
		if !own {
			continue
		}
		fold := e.use(pkg) + "." + function
		if p.Slot.Var >= 0 {
			fold += "[" + e.element(p.Slot) + "]"
		}
		folds = append(folds, fmt.Sprintf("opimpl.FoldBy[%s](Slot%s, %s)", e.element(p.Slot), p.Slot.GoName, fold))
	}
	if folds != nil {
		call += ".FoldedBy(" + strings.Join(folds, ", ") + ")"
	}
	return call
}
