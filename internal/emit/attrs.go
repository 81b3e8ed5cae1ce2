package emit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
)

// packageDoc returns the comment of an operator's package.
func (e *emitter) packageDoc() string {
	o := e.op
	doc := fmt.Sprintf("Package %s is the operator %s.\n\n%s", o.Package, o.Name, sentence(o.Doc))
	if o.Deprec != "" {
		doc += "\n\nDeprecated: " + sentence(o.Deprec)
	}
	return doc
}

// attrs emits the attributes and the enums that belong to them.
func (e *emitter) attrs() {
	o := e.op
	e.comment("Attrs holds the attributes of %s. Defaults makes them. Compare them with ==.", o.Name)
	e.structOf("Attrs", o.Attrs, row{code: "made\tbool", note: "by Defaults; Validate refuses a literal"})
	e.p("")
	e.defaults()
	e.setters("a", "Attrs", o.Attrs)
	e.validate()
	for _, a := range o.Attrs {
		if a.Enum != nil && a.Enum.Package == "" {
			e.p("")
			e.enum(a.Enum)
		}
		if a.Type == "record" {
			e.p("")
			e.record(a)
		}
	}
}

// list joins the elements of a composite literal or the arguments of a call. Several elements have a line
// each.
func list(elems []string) string {
	if len(elems) < 2 {
		return strings.Join(elems, ", ")
	}
	return "\n" + strings.Join(elems, ",\n") + ",\n"
}

// structOf emits a struct of attributes, and of further fields.
func (e *emitter) structOf(name string, attrs []*model.Attr, more ...row) {
	e.p("type %s struct {", name)
	var rows []row
	for _, a := range attrs {
		rows = append(rows, row{fmt.Sprintf("%s\t%s\t`json:%q`", a.GoName, e.attrType(a), a.Name), attrDoc(a)})
	}
	e.rows(append(rows, more...))
	e.p("}")
}

func attrDoc(a *model.Attr) string {
	parts := []string{lowerFirst(strings.TrimRight(line(a.Doc), "."))}
	if a.Len != nil {
		parts = append(parts, english.Count(*a.Len, "value"))
	}
	switch {
	case a.Min != nil && a.Max != nil:
		parts = append(parts, fmt.Sprintf("between %v and %v", a.Min, a.Max))
	case a.Min != nil:
		parts = append(parts, fmt.Sprintf("at least %v", a.Min))
	case a.Max != nil:
		parts = append(parts, fmt.Sprintf("at most %v", a.Max))
	}
	if a.Optional {
		parts = append(parts, "may be absent")
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}

// zero reports whether a value of an attribute is the zero value of its Go type.
func zero(a *model.Attr, v any) bool {
	switch v := v.(type) {
	case bool:
		return !v
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0 && !(a.Type == "number" && isReal(v))
	case []any:
		return len(v) == 0
	case string:
		return v == "" && a.Type == "string"
	}
	return false
}

// attrType returns the Go type of an attribute.
func (e *emitter) attrType(a *model.Attr) string {
	if wrapped(a) {
		return "attr.Opt[" + e.valueType(a) + "]"
	}
	return e.valueType(a)
}

// wrapped reports whether an attribute that may be absent is an attr.Opt. An enum or element type that is not
// set is its zero value.
func wrapped(a *model.Attr) bool {
	return a.Optional && (a.List || a.Type != "enum" && a.Type != "dtype")
}

// valueType returns the Go type of an attribute that is not absent.
func (e *emitter) valueType(a *model.Attr) string {
	one := e.elemType(a)
	if a.Type == "dims" || a.Type == "axes" || a.List {
		return "attr.List[" + one + "]"
	}
	return one
}

func (e *emitter) elemType(a *model.Attr) string {
	switch a.Type {
	case "float":
		return "float64"
	case "number":
		return "attr.Number"
	case "bool", "string":
		return a.Type
	case "enum":
		if a.Enum.Package != "" {
			return e.enumPkg(a.Enum) + "." + a.Enum.GoName
		}
		return a.Enum.GoName
	case "dtype":
		return "dtype.Type"
	case "record":
		return a.GoName
	}
	return "int"
}

// attrValue returns a value of an attribute as Go. v is the value in the spec, as package json decodes it.
func (e *emitter) attrValue(a *model.Attr, v any) string {
	if a.Type == "dims" || a.Type == "axes" || a.List {
		one := *a
		one.List = false
		if a.Type == "dims" || a.Type == "axes" {
			one.Type = "int"
		}
		kind := ""
		if one.Type == "float" || len(v.([]any)) == 0 {
			kind = "[" + e.elemType(&one) + "]" // Go does not infer it from the values
		}
		var values []string
		for _, x := range v.([]any) {
			values = append(values, e.attrValue(&one, x))
		}
		return "attr.ListOf" + kind + "(" + strings.Join(values, ", ") + ")"
	}
	switch a.Type {
	case "enum":
		for _, x := range a.Enum.Values {
			if x.Name == v {
				return e.enumValue(a.Enum, x)
			}
		}
	case "dtype":
		t, _ := dtype.Parse(v.(string))
		return "dtype." + dtypeConst(t)
	case "string":
		return strconv.Quote(v.(string))
	case "float":
		return realValue(v)
	case "number":
		if isReal(v) {
			return "attr.Real(" + realValue(v) + ")"
		}
		return "attr.Int(" + fmt.Sprint(v) + ")"
	case "record":
		return e.recordValue(a, v.(map[string]any))
	}
	return fmt.Sprint(v) // a number or a boolean, as it was written
}

// isReal reports whether a number of a spec is a real number.
func isReal(v any) bool {
	n, err := attr.ParseNumber(fmt.Sprint(v))
	_, whole := n.Int()
	return err == nil && !whole
}

// realValue returns a real number as Go.
func realValue(v any) string {
	switch v { // JSON lacks them
	case "inf":
		return "math.Inf(1)"
	case "-inf":
		return "math.Inf(-1)"
	}
	return fmt.Sprint(v)
}

// validate emits the check of attributes.
func (e *emitter) validate() {
	checks := ""
	for _, a := range e.op.Attrs {
		checks += e.checks(a, a.Name, "a."+a.GoName)
	}
	if f := e.op.ValidateX; f != nil {
		var args []string
		for _, a := range f.Args {
			args = append(args, "a."+e.attr(a.(*expr.Ident).Name).GoName)
		}
		checks += fmt.Sprintf("if err := attr.Valid(%q, %s(%s)); err != nil {\nreturn err\n}\n", e.op.FullName(), e.goFunc(f), strings.Join(args, ", "))
	}
	made := fmt.Sprintf("attr.CheckMade(%q, a.made)", e.op.FullName())
	e.p("")
	if checks == "" {
		e.comment("Validate returns an error for attributes that Defaults did not make.")
		e.p("func (a Attrs) Validate() error { return %s }", made)
		return
	}
	e.comment("Validate returns an error for attributes that Defaults did not make, or for the first one outside its range.")
	e.p("func (a Attrs) Validate() error {\nif err := %s; err != nil {\nreturn err\n}\n%sreturn nil\n}", made, checks)
}

// checks returns the statements that check the value v of an attribute, or of a record's field. Errors
// contain the name.
func (e *emitter) checks(a *model.Attr, name, v string) string {
	if a.List || a.Type == "dims" || a.Type == "axes" {
		return e.listChecks(a, name, v)
	}
	failIf := func(check string) string { return "if err := " + check + "; err != nil {\nreturn err\n}\n" }
	check := func(f string, args ...string) string {
		return failIf(fmt.Sprintf("attr.%s(%q, %q, %s)", f, e.op.FullName(), name, strings.Join(args, ", ")))
	}
	switch a.Type {
	case "enum":
		if a.Enum.Package != "" {
			return failIf(fmt.Sprintf("%s.Check(%q, %q, %t)", v, e.op.FullName(), name, a.Optional))
		}
		return check("CheckEnum", "int("+v+")", enumNames(a.Enum)+"[:]", strconv.FormatBool(a.Optional))
	case "dtype":
		if a.Optional {
			return ""
		}
		return check("CheckType", v)
	}
	x := v
	if a.Optional {
		x = "v"
	}
	out, bounded := "", x
	if a.Type == "number" {
		bounded += ".Float()"
	}
	if a.Min != nil {
		out += check("CheckMin", bounded, fmt.Sprint(a.Min))
	}
	if a.Max != nil {
		out += check("CheckMax", bounded, fmt.Sprint(a.Max))
	}
	if a.Type == "record" {
		out += check("CheckMadeBy", strconv.Quote(recordMaker(a)), x+".made")
	}
	for _, f := range a.Fields {
		out += e.checks(f, name+"."+f.Name, x+"."+f.GoName)
	}
	if a.Optional && out != "" {
		return "if v, ok := " + v + ".Get(); ok {\n" + out + "}\n"
	}
	return out
}

// listChecks returns the statements that check the values of a list.
func (e *emitter) listChecks(a *model.Attr, name, v string) string {
	one := *a
	one.List, one.Optional = false, false
	if a.Type == "dims" || a.Type == "axes" {
		one.Type = "int"
	}
	list, out := v, ""
	if a.Optional {
		list = "v"
	}
	if a.Len != nil {
		out = fmt.Sprintf("if err := attr.CheckLen(%q, %q, %s.Len(), %d); err != nil {\nreturn err\n}\n", e.op.FullName(), name, list, *a.Len)
	}
	if each := e.checks(&one, name, "v"); each != "" {
		out += "for _, v := range " + list + ".Values() {\n" + each + "}\n"
	}
	if a.Optional && out != "" {
		return "if v, ok := " + v + ".Get(); ok {\n" + out + "}\n"
	}
	return out
}
