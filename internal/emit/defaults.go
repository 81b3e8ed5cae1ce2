package emit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/model"
)

// required returns the attributes that must be given: those with neither a default nor the choice to be absent.
func required(o *model.Operator) []*model.Attr {
	var out []*model.Attr
	for _, a := range o.Attrs {
		if a.Default == nil && !a.Optional {
			out = append(out, a)
		}
	}
	return out
}

// defaults emits the function that makes attributes. It marks them, so that Validate tells them from a literal.
func (e *emitter) defaults() {
	var params, fields []string
	must := required(e.op)
	for i, a := range must {
		p := e.attrParam(a)
		if i+1 == len(must) || e.attrType(must[i+1]) != e.attrType(a) {
			p += " " + e.attrType(a)
		}
		params = append(params, p)
	}
	for _, a := range e.op.Attrs {
		switch {
		case slices.Contains(must, a):
			fields = append(fields, a.GoName+": "+e.attrParam(a))
		case a.Default != nil && !zero(a, a.Default):
			fields = append(fields, a.GoName+": "+e.attrValue(a, a.Default))
		}
	}
	if len(must) == 0 {
		e.comment("Defaults returns the defaults of the spec.")
	} else {
		e.comment("Defaults returns the given attributes, and the others with the defaults of the spec.")
	}
	e.p("func Defaults(%s) Attrs {\nreturn Attrs{%s}\n}", strings.Join(params, ", "), list(append(fields, "made: true")))
}

// setters emits, for each attribute that Defaults does not take, a method that returns attributes with another value
// of it.
func (e *emitter) setters() {
	must := required(e.op)
	for _, a := range e.op.Attrs {
		if slices.Contains(must, a) {
			continue
		}
		p := e.attrParam(a)
		v := p
		if wrapped(a) {
			v = "attr.Some(" + p + ")"
		}
		e.p("")
		e.comment("With%s returns a with a value of %s.", a.GoName, a.Name)
		e.p("func (a Attrs) With%s(%s %s) Attrs {\na.%[1]s = %[4]s\nreturn a\n}", a.GoName, p, e.valueType(a), v)
	}
}

// attrParam returns the name of a parameter that is an attribute. It hides no name that the function needs.
func (e *emitter) attrParam(a *model.Attr) string {
	return local(a.Name, append(slices.Sorted(maps.Keys(e.packages)), "a", "true", "false")...)
}

// noAttrs returns a call of Defaults with zero values for what must be given.
func (e *emitter) noAttrs() string {
	var args []string
	for _, a := range required(e.op) {
		args = append(args, e.zeroOf(a))
	}
	return fmt.Sprintf("Defaults(%s)", strings.Join(args, ", "))
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
