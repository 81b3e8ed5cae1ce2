package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/opgen/opgen/runtime/onnx/mapping"
)

// ONNX returns the name of an operator of ONNX that maps to an operator, the versions, and how.
func ONNX(e *mapping.Entry) []string {
	name := e.Op
	if e.Domain != "" {
		name = e.Domain + "." + e.Op
	}
	versions := fmt.Sprintf("from %d", e.Since)
	if e.Until != 0 {
		versions = fmt.Sprintf("%d to %d", e.Since, e.Until)
	}
	var how []string
	if e.When != "" {
		how = append(how, "if "+e.When)
	}
	if e.Times != "" {
		how = append(how, "for i in "+e.Times)
	}
	for _, a := range append(append([]mapping.Attr{}, e.Let...), e.Attrs...) {
		how = append(how, a.Name+" = "+a.Value)
	}
	for _, a := range e.Save {
		how = append(how, "saves "+a.Name+" = "+a.Value)
	}
	if e.Body != "" {
		return []string{"(nodes)", "", "saved as " + strings.Join(strings.FieldsFunc(e.Body, func(c rune) bool { return c == '\n' }), "; "), strings.Join(how, "; ")}
	}
	return []string{name, versions, operandNames(e.Inputs) + " -> " + operandNames(e.Outputs), strings.Join(how, "; ")}
}

func operandNames(list []mapping.Operand) string {
	var names []string
	for _, o := range list {
		name := cmp.Or(o.Slot, "constant "+o.Const)
		for _, f := range [][2]string{{"as ", o.Type}, {"of shape ", o.Shape}, {"repeated to ", o.Expand}, {"in order ", o.Permute}} {
			if f[1] != "" {
				name += " " + f[0] + f[1]
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
