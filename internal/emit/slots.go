package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// slotNames returns the names of all slots, tensors first, and a description of each.
func slotNames(o *model.Operator) (names, goNames, docs []string) {
	for _, s := range o.Slots {
		names, goNames = append(names, s.Name), append(goNames, s.GoName)
		docs = append(docs, slotDoc(s))
	}
	for _, a := range o.Args {
		names, goNames = append(names, a.Name), append(goNames, a.GoName)
		docs = append(docs, argDoc(a))
	}
	return names, goNames, docs
}

var roles = map[task.Role]string{
	task.RoleInput: "an input", task.RoleWeight: "a weight", task.RoleOutput: "an output",
	task.RoleSaved: "saved for backward", task.RoleScratch: "scratch memory",
}

// kindOfSlot says what a slot is: an input, T[N..., K].
func kindOfSlot(s *model.Slot) string {
	if s.Variadic {
		return fmt.Sprintf("a list of %ss, %s, each %s%s", s.Role, s.Tensors(), s.Type, s.Shape)
	}
	return fmt.Sprintf("%s, %s%s%s", roles[s.Role], s.Type, s.Shape, presence(s))
}

func presence(s *model.Slot) string {
	switch {
	case s.Present == "caller" && s.OnRequest:
		return ", made on request"
	case s.Present == "caller":
		return ", optional"
	case s.Present != "":
		return ", if " + s.Present
	}
	return ""
}

// slotDoc describes a slot: what it is, and what the spec says about it.
func slotDoc(s *model.Slot) string {
	doc := kindOfSlot(s)
	if s.Doc != "" {
		doc += ": " + lowerFirst(s.Doc)
	}
	return doc
}

// slots emits the operator's slot enum.
func (e *emitter) slots(f *jen.File) {
	names, goNames, docs := slotNames(e.op)
	comment(f, "Slot numbers the tensors and arguments of %s. Being a type of its own, it keeps slots of other operators out.", e.op.Name)
	f.Type().Id("Slot").Int()
	f.Line()
	comment(f, "The slots of %s.", e.op.Name)
	f.Const().DefsFunc(func(g *jen.Group) {
		for i := range names {
			comment(g, "Slot%s is %s", goNames[i], sentence(docs[i]))
			s := jen.Id("Slot" + goNames[i])
			if i == 0 {
				s = s.Id("Slot").Op("=").Iota()
			}
			g.Add(s)
		}
	})
	f.Line()
	f.Var().Id("slotNames").Op("=").Index(jen.Op("...")).String().ValuesFunc(func(g *jen.Group) {
		for i, n := range names {
			g.Line().Id("Slot" + goNames[i]).Op(":").Lit(n)
		}
		g.Line()
	})
	f.Line()
	comment(f, "String returns the slot's name in the spec.")
	f.Func().Params(jen.Id("s").Id("Slot")).Id("String").Params().String().Block(
		jen.If(jen.Id("s").Op("<").Lit(0).Op("||").Int().Call(jen.Id("s")).Op(">=").Len(jen.Id("slotNames"))).Block(
			jen.Return(jen.Lit("Slot(").Op("+").Qual("strconv", "Itoa").Call(jen.Int().Call(jen.Id("s"))).Op("+").Lit(")"))),
		jen.Return(jen.Id("slotNames").Index(jen.Id("s"))),
	)
}
