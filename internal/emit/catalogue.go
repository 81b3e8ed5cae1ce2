package emit

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
)

// catalogue emits the package that registers all operators with their kernels.
func (e *emitter) catalogue(m *model.Module) {
	e.comment("Operators returns all operators, sorted by name.")
	e.p("func Operators() []*graph.Operator {\nreturn []*graph.Operator{")
	for _, o := range m.Operators {
		e.p("%s.Operator,", e.pkg(o.Package))
	}
	e.p("}\n}\n")
	e.comment("Register adds the tasks of all operators and their CPU kernels to r.")
	e.p("func Register(r *task.Registry) error {\nreturn errors.Join(")
	for _, o := range m.Operators {
		if o.Derived {
			e.p("formula.Register(r, op.CPU, &%s.Operator.Operator),", e.pkg(o.Package))
		} else {
			e.p("%s.Register(r, op.CPU, %s{}),", e.pkg(o.Package), kernelSet(o))
		}
	}
	e.p(")\n}")
	kernels := e.importAs(e.paths.Kernels)
	for _, o := range m.Operators {
		if o.Derived {
			continue
		}
		e.p("\ntype %s struct{}\n", kernelSet(o))
		for _, k := range (&emitter{op: o}).registeredKernels() {
			args := typeList(k.types)
			head := fmt.Sprintf("func (%s) %s() %s.%s%s", kernelSet(o), variantName(o, k), e.pkg(o.Package), k.kind, args)
			e.function(head, "return %s.%s%s{}", kernels, o.GoName+strings.TrimSuffix(k.kind, "Kernel"), args)
		}
	}
}

// kernelSet returns the name of the type that holds the kernels of an operator.
func kernelSet(o *model.Operator) string { return fmt.Sprintf("%sKernels", goname.Local(o.Name)) }
