package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
)

// variants returns all choices of element types, each as one type for each dtype variable.
func variants(o *model.Operator) [][]dtype.Type {
	all := [][]dtype.Type{nil}
	for _, v := range o.Types {
		var next [][]dtype.Type
		for _, prefix := range all {
			for _, t := range v.Types {
				next = append(next, append(append([]dtype.Type{}, prefix...), t))
			}
		}
		all = next
	}
	return all
}

// variantName is the parameter of Register for a choice of element types: f32, f32I64, or kernel.
func variantName(types []dtype.Type) string {
	if len(types) == 0 {
		return "kernel"
	}
	s := types[0].String()
	for _, t := range types[1:] {
		s += goname.Exported(t.String())
	}
	if types[0] == dtype.String || types[0] == dtype.Bool && len(types) == 1 {
		s += "Kernel"
	}
	return s
}

func (e *emitter) register(f *jen.File) {
	o := e.op
	comment(f, "Register registers the tasks of %s with r, with a kernel for each choice of element types.", o.Name)
	f.Func().Id("Register").ParamsFunc(func(g *jen.Group) {
		g.Id("r").Op("*").Add(e.task("Registry"))
		for _, v := range variants(o) {
			var args []jen.Code
			for _, t := range v {
				args = append(args, jen.Id(t.GoType()))
			}
			g.Id(variantName(v)).Add(generic("Kernel", args))
		}
	}).Error().Block(jen.Return(jen.Qual("errors", "Join").CallFunc(func(g *jen.Group) {
		for _, t := range o.Tasks {
			g.Line().Id("r").Dot("RegisterTask").CallFunc(func(g *jen.Group) {
				g.Id(t.GoName + "Task")
				g.Lit(o.Name + " " + t.Name)
				g.Id("Operator").Dot("Signature").Call(e.task(kindConst(t.Kind)))
				for _, v := range variants(o) {
					g.Line().Add(e.task("Variant")).ValuesFunc(func(g *jen.Group) {
						g.Id("Types").Op(":").Index().Qual(e.rt("dtype"), "Type").ValuesFunc(func(g *jen.Group) {
							for _, t := range v {
								g.Qual(e.rt("dtype"), dtypeConst(t))
							}
						})
						g.Id("Kernel").Op(":").Id(variantName(v))
						g.Id("Bind").Op(":").Id("bind" + t.GoName).Call(jen.Id(variantName(v)))
					})
				}
				g.Line()
			})
		}
		g.Line()
	})))
}
