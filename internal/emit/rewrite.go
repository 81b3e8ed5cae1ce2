package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// inPlaceField returns the field of a signature that says what the task may do in place; nothing if
// that is nothing.
func (e *emitter) inPlaceField(t *model.Task) jen.Code {
	if len(t.InPlace) == 0 {
		return jen.Null()
	}
	return jen.Line().Id("InPlace").Op(":").Add(e.inPlace(t))
}

// inPlace returns what a task may do in place, as a slice.
func (e *emitter) inPlace(t *model.Task) *jen.Statement {
	return jen.Index().Add(e.task("InPlace")).ValuesFunc(func(g *jen.Group) {
		for _, p := range t.InPlace {
			g.ValuesFunc(func(g *jen.Group) {
				g.Id("Slot").Op(":").Int().Call(jen.Id("Slot" + e.op.Slots[p.Slot].GoName))
				g.Id("Of").Op(":").Int().Call(jen.Id("Slot" + e.op.Slots[p.Of].GoName))
				if p.View {
					g.Id("View").Op(":").True()
				}
			})
		}
	})
}

// fusions returns the fusions of the operator, as a slice.
func (e *emitter) fusions() *jen.Statement {
	pairs := func(list []task.FusionSlot) *jen.Statement {
		return jen.Index().Add(e.task("FusionSlot")).ValuesFunc(func(g *jen.Group) {
			for _, p := range list {
				g.Values(jen.Id("Other").Op(":").Lit(p.Other), jen.Id("Own").Op(":").Int().Call(jen.Id("Slot"+e.op.Slots[p.Own].GoName)))
			}
		})
	}
	return jen.Index().Add(e.task("Fusion")).ValuesFunc(func(g *jen.Group) {
		for _, x := range e.op.Fusions {
			g.Line().ValuesFunc(func(g *jen.Group) {
				field := func(name string, v jen.Code) { g.Line().Id(name).Op(":").Add(v) }
				field("Name", jen.Lit(x.Name))
				field("Other", jen.Lit(x.Other))
				field("Share", pairs(x.Share))
				field("Make", pairs(x.Make))
				conditions := func(name string, list []task.FusionWhen) {
					if len(list) > 0 {
						field(name, jen.Index().Add(e.task("FusionWhen")).ValuesFunc(func(g *jen.Group) {
							for _, w := range list {
								g.Values(jen.Id("Attr").Op(":").Lit(w.Attr), jen.Id("Values").Op(":").Add(raw(w.Values)))
							}
						}))
					}
				}
				conditions("When", x.When)
				conditions("Own", x.Own)
				if len(x.Absent) > 0 {
					field("Absent", jen.Index().String().ValuesFunc(func(g *jen.Group) {
						for _, a := range x.Absent {
							g.Lit(a)
						}
					}))
				}
				if x.Set != "" {
					field("Set", raw(x.Set))
				}
				if len(x.Copy) > 0 {
					field("Copy", jen.Index().Add(e.task("FusionCopy")).ValuesFunc(func(g *jen.Group) {
						for _, c := range x.Copy {
							g.Values(jen.Id("Attr").Op(":").Lit(c.Attr), jen.Id("From").Op(":").Lit(c.From))
						}
					}))
				}
				if x.Tolerance > 0 {
					field("Tolerance", jen.Lit(x.Tolerance))
				}
				g.Line()
			})
		}
		g.Line()
	})
}
