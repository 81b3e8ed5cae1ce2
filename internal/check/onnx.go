package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/onnx/mapping"
)

// onnx checks an entry of the section onnx: its slots and attributes are there, each slot that must have a
// tensor gets one, and expressions can be read.
func (o *operator) onnx(x *spec.ONNX) {
	if o.s.Unread["slots"] || o.s.Unread["attrs"] {
		return
	}
	if o.s.Kind != spec.Operator {
		o.list.Add(diag.BadValue, x.Span, "onnx: operators compute what ONNX has, but this is %s", english.Article(string(o.s.Kind)))
		return
	}
	if _, err := x.Reads(); err != nil {
		o.list.Add(diag.BadExpr, x.Span, "onnx: %v", err)
	}
	o.onnxWayBack(x)
	o.onnxSlots(x, x.Inputs, "input", "weight")
	o.onnxSlots(x, x.Outputs, "output")
	for _, s := range o.s.Slots {
		takes := s.Role.V == "input" || s.Role.V == "weight"
		if takes && !s.Present.Set() && !slices.ContainsFunc(x.Inputs, func(i mapping.Operand) bool { return i.Slot == s.Name }) && x.Op != mapping.Storage && x.Body == "" {
			o.list.Add(diag.MissingKey, x.Span, "inputs does not say which input of %s is %s", x.Op, s.Name)
		}
	}
	for _, a := range x.Attrs {
		if !slices.ContainsFunc(o.s.Args, func(g *spec.Arg) bool { return g.Name == a.Name && g.From.V == "call" }) {
			o.attrOf(o.s, a.Name, x.At[a.Name])
		}
	}
	for _, a := range o.s.Attrs {
		given := slices.ContainsFunc(x.Attrs, func(g mapping.Attr) bool { return g.Name == a.Name })
		if !given && !a.Bad && !a.Optional.V && a.Default == nil && x.Body == "" {
			o.list.Add(diag.MissingKey, x.Span, "attrs does not say what %s is", a.Name)
		}
	}
}

// onnxWayBack checks what an entry says about saving: its expressions read attributes and slots, and its body
// gives the outputs that there always are.
func (o *operator) onnxWayBack(x *spec.ONNX) {
	var slots, names, outputs []string
	for _, s := range o.s.Slots {
		slots = append(slots, s.Name)
		if s.Role.V == "output" && !s.Present.Set() {
			outputs = append(outputs, s.Name)
		}
	}
	for _, a := range o.s.Attrs {
		names = append(names, a.Name)
	}
	for _, a := range o.s.Args {
		names = append(names, a.Name)
	}
	if err := x.CheckSave(slots, names, outputs); err != nil {
		o.list.Add(diag.BadExpr, x.Span, "onnx: %v", err)
	}
}

func (o *operator) onnxSlots(x *spec.ONNX, list []mapping.Operand, roles ...string) {
	for _, p := range list {
		if p.Slot == "" {
			continue
		}
		span := x.At[p.Slot+p.Const]
		if s := o.slotOf(o.s, p.Slot, span); s != nil && hasRole(s) && !slices.Contains(roles, s.Role.V) {
			o.list.Add(diag.BadRole, span, "want a slot of role %s, got %s, which has the role %s", strings.Join(roles, " or "), s.Name, s.Role.V)
		}
	}
}
