package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/model"
)

// catalogue emits the package that registers all operators with their kernels.
func (e *emitter) catalogue(f *jen.File, m *model.Module) {
	packageComment(f, "Package catalogue knows every operator of the module and registers it with its kernels. A missing kernel, or one of the wrong type, does not compile.")
	for _, o := range m.Operators {
		e.know(o.Package)
	}
	comment(f, "Operators lists all operators by name.")
	f.Func().Id("Operators").Params().Index().Op("*").Add(e.graphQ("Operator")).Block(
		jen.Return(jen.Index().Op("*").Add(e.graphQ("Operator")).ValuesFunc(func(g *jen.Group) {
			for _, o := range m.Operators {
				g.Line().Qual(e.gen(o.Package), "Operator")
			}
			g.Line()
		})))
	f.Line()
	comment(f, "Register registers the tasks of all operators with r.")
	f.Func().Id("Register").Params(jen.Id("r").Op("*").Add(e.task("Registry"))).Error().Block(
		jen.Return(jen.Qual("errors", "Join").CallFunc(func(g *jen.Group) {
			for _, o := range m.Operators {
				g.Line().Qual(e.gen(o.Package), "Register").CallFunc(func(g *jen.Group) {
					kernels := (&emitter{op: o}).registeredKernels()
					g.Id("r")
					for _, k := range kernels {
						name := o.GoName + strings.TrimSuffix(k.kind, "Kernel")
						kernel := jen.Qual(e.paths.Kernels, name)
						if len(k.types) > 0 {
							kernel = kernel.Types(goTypeArgs(k.types)...)
						}
						if len(kernels) >= manyKernels {
							kernel = jen.Line().Add(kernel)
						}
						g.Add(kernel.Values())
					}
					if len(kernels) >= manyKernels {
						g.Line()
					}
				})
			}
			g.Line()
		})))
}
