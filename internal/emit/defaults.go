package emit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/model"
)

// required returns the attributes, or the fields of a record, that must be given: those with neither a
// default nor the choice to be absent.
func required(attrs []*model.Attr) []*model.Attr {
	var out []*model.Attr
	for _, a := range attrs {
		if a.Default == nil && !a.Optional {
			out = append(out, a)
		}
	}
	return out
}

// defaults emits the function that makes attributes.
func (e *emitter) defaults() {
	if len(required(e.op.Attrs)) == 0 {
		e.comment("Defaults returns the defaults of the spec.")
	} else {
		e.comment("Defaults returns the given attributes, and the others with the defaults of the spec.")
	}
	e.maker("Defaults", "Attrs", e.op.Attrs)
}

// maker emits the function that makes attributes, or a record. It marks them, so that Validate tells them
// from a literal.
func (e *emitter) maker(function, typ string, attrs []*model.Attr) {
	var params, fields []string
	must := required(attrs)
	for i, a := range must {
		p := e.attrParam(a)
		if i+1 == len(must) || e.attrType(must[i+1]) != e.attrType(a) {
			p += " " + e.attrType(a)
		}
		params = append(params, p)
	}
	for _, a := range attrs {
		switch {
		case slices.Contains(must, a):
			fields = append(fields, a.GoName+": "+e.attrParam(a))
		case a.Default != nil && !zero(a, a.Default):
			fields = append(fields, a.GoName+": "+e.attrValue(a, a.Default))
		}
	}
	e.p("func %s(%s) %s {\nreturn %[3]s{%s}\n}", function, strings.Join(params, ", "), typ, list(append(fields, "made: true")))
}

// setters emits, for each attribute, or field of a record, that the function which makes them does not take,
// a method that returns them with another value of it. receiver is its receiver.
func (e *emitter) setters(receiver, typ string, attrs []*model.Attr) {
	must := required(attrs)
	for _, a := range attrs {
		if slices.Contains(must, a) {
			continue
		}
		p := e.attrParam(a)
		v := p
		if wrapped(a) {
			v = "attr.Some(" + p + ")"
		}
		e.p("")
		e.comment("With%s returns %s with a value of %s.", a.GoName, receiver, a.Name)
		e.p("func (%[5]s %[6]s) With%[1]s(%[2]s %[3]s) %[6]s {\n%[5]s.%[1]s = %[4]s\nreturn %[5]s\n}", a.GoName, p, e.valueType(a), v,
			receiver, typ)
	}
}

// attrParam returns the name of a parameter that is an attribute. It hides no name that the function needs.
func (e *emitter) attrParam(a *model.Attr) string {
	return local(a.Name, append(slices.Sorted(maps.Keys(e.packages)), "a", "v", "true", "false")...)
}

// noAttrs returns a call of Defaults with zero values for what must be given.
func (e *emitter) noAttrs() string {
	var args []string
	for _, a := range required(e.op.Attrs) {
		args = append(args, e.zeroOf(a))
	}
	return fmt.Sprintf("Defaults(%s)", strings.Join(args, ", "))
}

// record emits the type of a record, with the function that makes its values.
func (e *emitter) record(a *model.Attr) {
	maker, must := recordMaker(a), required(a.Fields)
	e.comment("%s is the value of the attribute %s. %s makes it.", a.GoName, a.Name, maker)
	e.structOf(a.GoName, a.Fields, row{code: "made\tbool", note: "by " + maker + "; Validate refuses a literal"})
	e.p("")
	switch {
	case len(must) == len(a.Fields):
		e.comment("%s returns a record of the given fields.", maker)
	case len(must) == 0:
		e.comment("%s returns the defaults of the spec.", maker)
	default:
		e.comment("%s returns the given fields, and the others with the defaults of the spec.", maker)
	}
	e.maker(maker, a.GoName, a.Fields)
	e.setters("v", a.GoName, a.Fields)
	var zeros []string
	names := ""
	for _, f := range must {
		zeros = append(zeros, e.zeroOf(f))
		names += fmt.Sprintf(", %q", f.Name)
	}
	e.p("")
	e.comment("String formats the fields.")
	e.p("func (v %s) String() string { return attr.FormatRecord(v) }", a.GoName)
	rest := ""
	e.p("")
	if len(must) < len(a.Fields) {
		rest = " Fields that are left out are as " + maker + " makes them."
	}
	e.comment("UnmarshalJSON reads the record.%s", rest)
	e.p("func (v *%s) UnmarshalJSON(data []byte) error {\ntype fields %[1]s // without this method", a.GoName)
	e.p("return attr.DecodeRecord(data, (*fields)(v), fields(%s(%s))%s)\n}", maker, strings.Join(zeros, ", "), names)
	for _, x := range a.Fields {
		if x.Enum != nil && x.Enum.Package == "" {
			e.p("")
			e.enum(x.Enum)
		}
	}
}

// recordMaker returns the name of the function that makes values of a record.
func recordMaker(a *model.Attr) string { return "New" + a.GoName }

// recordValue returns a value of a record as Go.
func (e *emitter) recordValue(a *model.Attr, v map[string]any) string {
	var args []string
	must := required(a.Fields)
	for _, f := range must {
		args = append(args, e.attrValue(f, v[f.Name]))
	}
	out := recordMaker(a) + "(" + strings.Join(args, ", ") + ")"
	for _, f := range a.Fields {
		if x, given := v[f.Name]; given && !slices.Contains(must, f) {
			out += fmt.Sprintf(".With%s(%s)", f.GoName, e.attrValue(f, x))
		}
	}
	return out
}

// zeroOf returns the zero value of an attribute's Go type.
func (e *emitter) zeroOf(a *model.Attr) string {
	switch t := e.valueType(a); {
	case strings.HasPrefix(t, "attr.") || a.Type == "record":
		return t + "{}"
	case t == "bool":
		return "false"
	case t == "string":
		return `""`
	}
	return "0"
}
