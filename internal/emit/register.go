package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
)

// variants returns all choices of element types, each as one type for each dtype variable.
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

// variantName is the parameter of Register for a choice of element types: f32, f32I64, or kernel. kind
// is the interface of the kernel.
func variantName(kind string, types []dtype.Type) string {
	if len(types) == 0 {
		return "kernel"
	}
	s := types[0].String()
	for _, t := range types[1:] {
		s += goname.Exported(t.String())
	}
	if kind != "Kernel" {
		return s + strings.TrimSuffix(kind, "Kernel")
	}
	if types[0] == dtype.String || types[0] == dtype.Bool && len(types) == 1 {
		s += "Kernel"
	}
	return s
}

// manyKernels is how many kernels stand one on each line rather than all on one.
const manyKernels = 5

// registered is a kernel that Register takes.
type registered struct {
	kind  string // the interface that it implements
	types []dtype.Type
}

// registeredKernels returns all kernels that Register takes, in order.
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

func goTypeArgs(types []dtype.Type) []jen.Code {
	var args []jen.Code
	for _, t := range types {
		args = append(args, jen.Id(t.GoType()))
	}
	return args
}

func (e *emitter) register(f *jen.File) {
	o := e.op
	comment(f, "Register registers the tasks of %s with r, with a kernel for each choice of element types.", o.Name)
	kernels := e.registeredKernels()
	f.Func().Id("Register").ParamsFunc(func(g *jen.Group) {
		r := jen.Id("r").Op("*").Add(e.task("Registry"))
		if len(kernels) >= manyKernels {
			r = jen.Line().Add(r)
		}
		g.Add(r)
		for _, k := range kernels {
			p := jen.Id(variantName(k.kind, k.types)).Add(generic(k.kind, goTypeArgs(k.types)))
			if len(kernels) >= manyKernels {
				p = jen.Line().Add(p)
			}
			g.Add(p)
		}
		if len(kernels) >= manyKernels {
			g.Line()
		}
	}).Error().Block(jen.Return(jen.Qual("errors", "Join").CallFunc(func(g *jen.Group) {
		for _, t := range o.Tasks {
			g.Line().Id("r").Dot("RegisterTask").CallFunc(func(g *jen.Group) {
				g.Id(t.GoName + "Task")
				g.Lit(o.Name + " " + t.Name)
				g.Id("Operator").Dot("Signature").Call(e.task(kindConst(t.Kind)))
				for _, v := range variants(t.Types) {
					kernel := variantName(e.kernelType(t), v)
					g.Line().Add(e.task("Variant")).ValuesFunc(func(g *jen.Group) {
						g.Id("Target").Op(":").Add(e.opQ("CPU"))
						g.Id("Types").Op(":").Index().Qual(e.rt("dtype"), "Type").ValuesFunc(func(g *jen.Group) {
							for _, t := range v {
								g.Qual(e.rt("dtype"), dtypeConst(t))
							}
						})
						g.Id("Kernel").Op(":").Id(kernel)
						g.Id("Bind").Op(":").Id("bind" + t.GoName).Call(jen.Id(kernel))
					})
				}
				g.Line()
			})
		}
		g.Line()
	})))
}
