package emit

import (
	"fmt"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

var roles = map[task.Role]string{
	task.RoleInput: "an input", task.RoleWeight: "a weight", task.RoleOutput: "an output",
	task.RoleSaved: "saved for backward", task.RoleScratch: "scratch memory",
}

// tensorsOf describes the tensors of a slot by type and shape: T[N..., K].
func tensorsOf(s *model.Slot) string {
	if s.Variadic {
		return fmt.Sprintf("%s, each %s%s", s.Tensors(), s.Type, s.Shape)
	}
	return s.Type + s.Shape + presence(s)
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

// slotDoc returns the comment on a slot: its role, its tensors and its doc.
func slotDoc(s *model.Slot) string {
	doc := roles[s.Role] + ", " + tensorsOf(s)
	if s.Variadic {
		doc = "a list of " + s.Role.String() + "s, " + tensorsOf(s)
	}
	if s.Doc != "" {
		doc += ": " + lowerFirst(line(s.Doc))
	}
	return doc
}

// slotNames returns the Go names of all slots, tensors first.
func slotNames(o *model.Operator) []string {
	var names []string
	for _, s := range o.Slots {
		names = append(names, s.GoName)
	}
	for _, a := range o.Args {
		names = append(names, a.GoName)
	}
	return names
}

// slots emits the operator's slot enum.
func (e *emitter) slots() {
	var rows []row
	for _, s := range e.op.Slots {
		rows = append(rows, row{"Slot" + s.GoName, slotDoc(s)})
	}
	for _, a := range e.op.Args {
		rows = append(rows, row{"Slot" + a.GoName, argDoc(a)})
	}
	rows[0].code += " Slot = iota"
	e.comment("Slot numbers the tensors and arguments of %s. The slots of other operators have other types.", e.op.Name)
	e.p("type Slot int\n")
	e.comment("The slots of %s.", e.op.Name)
	e.p("const (")
	e.rows(rows)
	e.p(")\n")
	e.comment("String returns the slot's name in the spec.")
	e.p("func (s Slot) String() string { return opimpl.SlotName(Operator, s) }")
}
