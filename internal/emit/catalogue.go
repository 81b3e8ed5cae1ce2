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
	e.cuda(m)
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

// cuda emits the function that registers kernels for GPUs.
func (e *emitter) cuda(m *model.Module) {
	var formulas, hand []string
	for _, o := range m.Operators {
		if o.CUDA != nil {
			hand = append(hand, e.pkg(o.Package)+".RegisterCUDA(r),")
		}
		if o.CanDerive() {
			formulas = append(formulas, fmt.Sprintf("&%s.Operator.Operator,", e.pkg(o.Package)))
		}
	}
	e.p("")
	e.comment("RegisterCUDA adds the tasks of all operators to r, with kernels for CPUs and for NVIDIA GPUs. The latter are made of formulas where none is written by hand. An operator without either runs on the host.")
	e.p("func RegisterCUDA(r *task.Registry) error {\nreturn errors.Join(\nRegister(r),")
	for _, call := range hand {
		e.p("%s", call)
	}
	if len(formulas) > 0 {
		e.p("formula.RegisterCUDA(r,\n%s\n),", strings.Join(formulas, "\n"))
	}
	e.p("gpu.RegisterHost(r),\n)\n}")
}

// kernelSet returns the name of the type that holds the kernels of an operator.
func kernelSet(o *model.Operator) string { return fmt.Sprintf("%sKernels", goname.Local(o.Name)) }
