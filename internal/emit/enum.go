package emit

import (
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
)

// enumNames returns the variable that holds the names of an enum's values.
func enumNames(en *model.Enum) string { return goname.Local(en.GoName) + "Names" }

// enum emits a type for an enum. In a package of its own, the constants need no prefix.
func (e *emitter) enum(en *model.Enum) {
	prefix := en.GoName
	if en.Package != "" {
		prefix = ""
	}
	doc := ""
	if en.Doc != "" {
		doc = ": " + lowerFirst(strings.TrimRight(strings.TrimSpace(en.Doc), "."))
	}
	e.comment("%s is a value of the enum %s%s. Zero means that none is set.", en.GoName, en.Name, doc)
	e.p("type %s uint8\n", en.GoName)
	e.comment("The values of %s.", en.GoName)
	e.p("const (")
	var rows []row
	names := []string{`""`}
	for i, v := range en.Values {
		code := prefix + v.GoName
		if i == 0 {
			code += " " + en.GoName + " = iota + 1"
		}
		rows = append(rows, row{code, line(sentence(v.Doc))})
		names = append(names, `"`+v.Name+`"`)
	}
	e.rows(rows)
	e.p(")\n")
	list := enumNames(en) + "[:]"
	e.p("var %s = [...]string{%s}\n", enumNames(en), strings.Join(names, ", "))
	e.comment("String returns the name that specs and plans use.")
	e.p("func (v %s) String() string { return attr.EnumString(int(v), %s) }\n", en.GoName, list)
	if en.Package != "" {
		e.comment("Check returns an error unless v is a value of the enum. With optional, v may also be zero.")
		e.p("func (v %s) Check(operator, attribute string, optional bool) error {", en.GoName)
		e.p("return attr.CheckEnum(operator, attribute, int(v), %s, optional)\n}\n", list)
	}
	e.comment("MarshalJSON writes the name. Zero gives null.")
	e.p("func (v %s) MarshalJSON() ([]byte, error) { return attr.MarshalEnum(int(v), %s) }\n", en.GoName, list)
	e.comment("UnmarshalJSON reads a name. Null leaves v as it is.")
	e.p("func (v *%s) UnmarshalJSON(data []byte) error {", en.GoName)
	e.p("n, err := attr.UnmarshalEnum(data, int(*v), %s)\n*v = %s(n)\nreturn err\n}", list, en.GoName)
}
