package emit

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/onnx/mapping"
)

// ONNX returns the package that lists which operators of ONNX the operators of the module compute; nothing if
// there are none.
func ONNX(p Paths, m *model.Module, folder string) ([]artifact.Artifact, error) {
	var entries []mapping.Entry
	for _, o := range m.Operators {
		entries = append(entries, o.ONNX...)
	}
	if len(entries) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(entries, func(x, y mapping.Entry) int { return cmp.Compare(x.Domain+"."+x.Op, y.Domain+"."+y.Op) })
	e := newEmitter(p, nil)
	e.packages["mapping"] = path.Join(p.Runtime, "onnx/mapping")
	doc := "Package onnxtable lists which operators of ONNX the operators of the module compute, as their specs say."
	return e.files("onnxtable", folder, []part{{"onnxtable.go", doc, func() { e.onnx(entries) }}})
}

func (e *emitter) onnx(entries []mapping.Entry) {
	e.comment("Entries holds the mappings, sorted by the operators of ONNX. Of those of an operator, the first one that applies counts.")
	e.p("var Entries = []mapping.Entry{")
	for i := range entries {
		e.p("{%s},", strings.Join(entryFields(&entries[i]), ", "))
	}
	e.p("}")
}

// entryFields returns the fields of an entry that are not zero.
func entryFields(x *mapping.Entry) (out []string) {
	add := func(name, value, zero string) {
		if value != zero {
			out = append(out, name+": "+value)
		}
	}
	add("Domain", strconv.Quote(x.Domain), `""`)
	add("Op", strconv.Quote(x.Op), `""`)
	add("Since", strconv.Itoa(x.Since), "0")
	add("Until", strconv.Itoa(x.Until), "0")
	add("Operator", strconv.Quote(x.Operator), "")
	add("When", strconv.Quote(x.When), `""`)
	add("Times", strconv.Quote(x.Times), `""`)
	add("Inputs", operands(x.Inputs), "")
	add("Outputs", operands(x.Outputs), "[]mapping.Operand{}")
	add("Let", onnxAttrs(x.Let), onnxAttrs(nil))
	add("Attrs", onnxAttrs(x.Attrs), onnxAttrs(nil))
	var ignored []string
	for _, a := range x.Ignore {
		ignored = append(ignored, strconv.Quote(a))
	}
	add("Ignore", "[]string{"+strings.Join(ignored, ", ")+"}", "[]string{}")
	add("Save", onnxAttrs(x.Save), onnxAttrs(nil))
	add("Body", strconv.Quote(x.Body), `""`)
	return out
}

func operands(list []mapping.Operand) string {
	var all []string
	for _, o := range list {
		var fields []string
		for _, f := range [][2]string{{"Slot", o.Slot}, {"Const", o.Const}, {"Type", o.Type}, {"Shape", o.Shape}, {"Expand", o.Expand}, {"Permute", o.Permute}} {
			if f[1] != "" {
				fields = append(fields, fmt.Sprintf("%s: %q", f[0], f[1]))
			}
		}
		all = append(all, "{"+strings.Join(fields, ", ")+"}")
	}
	return "[]mapping.Operand{" + strings.Join(all, ", ") + "}"
}

func onnxAttrs(list []mapping.Attr) string {
	var out []string
	for _, a := range list {
		out = append(out, fmt.Sprintf("{Name: %q, Value: %q}", a.Name, a.Value))
	}
	return "[]mapping.Attr{" + strings.Join(out, ", ") + "}"
}
