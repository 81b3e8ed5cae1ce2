package emit

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
)

// attrs emits the package comment, the attributes and the enums that belong to them.
func (e *emitter) attrs(f *jen.File) {
	o := e.op
	doc := fmt.Sprintf("Package %s is the operator %s.\n\n%s", o.Package, o.Name, sentence(o.Doc))
	if o.Deprec != "" {
		doc += "\n\nDeprecated: " + sentence(o.Deprec)
	}
	packageComment(f, doc)
	if len(o.Attrs) == 0 {
		comment(f, "Attrs are the attributes of %s, which has none.", o.Name)
	} else {
		comment(f, "Attrs are the attributes of %s. They are compared with ==.", o.Name)
	}
	f.Type().Id("Attrs").StructFunc(func(g *jen.Group) {
		for _, a := range o.Attrs {
			comment(g, "%s is the attribute %s%s", a.GoName, a.Name, attrDoc(a))
			g.Id(a.GoName).Add(e.attrType(a)).Tag(map[string]string{"json": a.Name})
		}
	})
	f.Line()
	comment(f, "Defaults returns attributes with the spec's defaults; those without one are zero.")
	f.Func().Id("Defaults").Params().Id("Attrs").Block(jen.Return(jen.Id("Attrs").ValuesFunc(func(g *jen.Group) {
		n := 0
		for _, a := range o.Attrs {
			if a.Default != nil && !zero(a, a.Default) {
				g.Line().Id(a.GoName).Op(":").Add(e.attrValue(a, a.Default))
				n++
			}
		}
		if n > 0 {
			g.Line()
		}
	})))
	f.Line()
	e.validate(f)
	f.Line()
	comment(f, "decodeAttrs reads attributes from a JSON object on top of the defaults and validates them.")
	f.Func().Id("decodeAttrs").Params(jen.Id("data").Index().Byte()).Params(e.task("Attrs"), jen.Error()).Block(
		jen.Id("a").Op(":=").Id("Defaults").Call(),
		jen.If(jen.Err().Op(":=").Qual(e.rt("attr"), "Decode").CallFunc(func(g *jen.Group) {
			g.Lit(o.Name)
			g.Id("data")
			g.Op("&").Id("a")
			for _, a := range o.Attrs {
				if a.Default == nil && !a.Optional {
					g.Lit(a.Name)
				}
			}
		}), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
		jen.Return(jen.Id("a"), jen.Id("a").Dot("Validate").Call()),
	)
	for _, a := range o.Attrs {
		if a.Enum != nil && a.Enum.Package == "" {
			f.Line()
			e.enum(f, a.Enum)
		}
		if a.Type == "record" {
			f.Line()
			e.record(f, a)
		}
	}
}

func attrDoc(a *model.Attr) string {
	s := ""
	if doc := strings.TrimRight(strings.TrimSpace(a.Doc), "."); doc != "" {
		s = ": " + lowerFirst(doc)
	}
	switch {
	case a.Min != nil && a.Max != nil:
		s += fmt.Sprintf("; between %v and %v", a.Min, a.Max)
	case a.Min != nil:
		s += fmt.Sprintf("; at least %v", a.Min)
	case a.Max != nil:
		s += fmt.Sprintf("; at most %v", a.Max)
	}
	if a.Optional {
		s += "; may be absent"
	}
	return s + "."
}

// zero reports whether a value of an attribute is the zero value of its Go type.
func zero(a *model.Attr, v any) bool {
	switch v := v.(type) {
	case bool:
		return !v
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case []any:
		return len(v) == 0
	case string:
		return v == "" && a.Type == "string"
	}
	return false
}

// attrType returns the Go type of an attribute.
func (e *emitter) attrType(a *model.Attr) *jen.Statement {
	one := e.elemType(a)
	switch {
	case a.Type == "dims" || a.Type == "axes" || a.List:
		one = jen.Qual(e.rt("attr"), "List").Types(one)
	}
	// An enum or element type that is not set is its zero value.
	if a.Optional && (a.List || a.Type != "enum" && a.Type != "dtype") {
		return jen.Qual(e.rt("attr"), "Opt").Types(one)
	}
	return one
}

func (e *emitter) elemType(a *model.Attr) *jen.Statement {
	switch a.Type {
	case "float":
		return jen.Float64()
	case "bool":
		return jen.Bool()
	case "string":
		return jen.String()
	case "enum":
		if a.Enum.Package != "" {
			return jen.Qual(e.gen(a.Enum.Package), a.Enum.GoName)
		}
		return jen.Id(a.Enum.GoName)
	case "dtype":
		return jen.Qual(e.rt("dtype"), "Type")
	case "record":
		return jen.Id(a.GoName)
	}
	return jen.Int()
}

// attrValue returns a value of an attribute, as the spec has it, in Go.
func (e *emitter) attrValue(a *model.Attr, v any) *jen.Statement {
	if a.Type == "dims" || a.Type == "axes" || a.List {
		one := *a
		one.List = false
		if a.Type == "dims" || a.Type == "axes" {
			one.Type = "int"
		}
		list := jen.Qual(e.rt("attr"), "ListOf")
		if one.Type == "float" || len(v.([]any)) == 0 {
			list = list.Types(e.elemType(&one)) // which does not follow from the values
		}
		return list.CallFunc(func(g *jen.Group) {
			for _, x := range v.([]any) {
				g.Add(e.attrValue(&one, x))
			}
		})
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
		return jen.Qual(e.rt("dtype"), dtypeConst(t))
	case "string":
		return jen.Lit(v)
	case "record":
		m := v.(map[string]any)
		return jen.Id(a.GoName).ValuesFunc(func(g *jen.Group) {
			for _, f := range a.Fields {
				if x, ok := m[f.Name]; ok {
					g.Id(f.GoName).Op(":").Add(e.attrValue(f, x))
				}
			}
		})
	}
	return jen.Id(fmt.Sprint(v)) // a number or a boolean, as it was written
}

func (e *emitter) validate(f *jen.File) {
	comment(f, "Validate reports the first attribute that is missing or outside its range.")
	f.Func().Params(jen.Id("a").Id("Attrs")).Id("Validate").Params().Error().BlockFunc(func(g *jen.Group) {
		for _, a := range e.op.Attrs {
			for _, c := range e.checks(a, a.Name, jen.Id("a").Dot(a.GoName)) {
				g.Add(c)
			}
		}
		g.Return(jen.Nil())
	})
}

// checks returns the statements that check the value v of an attribute, or of a record's field. name
// is what errors call it.
func (e *emitter) checks(a *model.Attr, name string, v *jen.Statement) []jen.Code {
	if a.List {
		return e.listChecks(a, name, v)
	}
	failIf := func(c *jen.Statement) jen.Code {
		return jen.If(jen.Err().Op(":=").Add(c), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
	}
	check := func(f string, args ...jen.Code) jen.Code {
		return failIf(jen.Qual(e.rt("attr"), f).Call(append([]jen.Code{jen.Lit(e.op.Name), jen.Lit(name)}, args...)...))
	}
	switch a.Type {
	case "enum":
		if a.Enum.Package != "" {
			return []jen.Code{failIf(v.Dot("Check").Call(jen.Lit(e.op.Name), jen.Lit(name), jen.Lit(a.Optional)))}
		}
		return []jen.Code{check("CheckEnum", jen.Int().Call(v), jen.Id(enumNames(a.Enum)).Index(jen.Op(":")), jen.Lit(a.Optional))}
	case "dtype":
		if a.Optional {
			return nil
		}
		return []jen.Code{check("CheckType", v)}
	}
	x := v
	if a.Optional {
		x = jen.Id("v")
	}
	var out []jen.Code
	if a.Min != nil {
		out = append(out, check("CheckMin", x.Clone(), e.bound(a, a.Min)))
	}
	if a.Max != nil {
		out = append(out, check("CheckMax", x.Clone(), e.bound(a, a.Max)))
	}
	for _, f := range a.Fields {
		out = append(out, e.checks(f, name+"."+f.Name, x.Clone().Dot(f.GoName))...)
	}
	if a.Optional && len(out) > 0 {
		return []jen.Code{jen.If(jen.List(jen.Id("v"), jen.Id("ok")).Op(":=").Add(v.Dot("Get").Call()), jen.Id("ok")).Block(out...)}
	}
	return out
}

// listChecks returns the statements that check the values of a list.
func (e *emitter) listChecks(a *model.Attr, name string, v *jen.Statement) []jen.Code {
	one := *a
	one.List, one.Optional = false, false
	each := e.checks(&one, name, jen.Id("v"))
	if len(each) == 0 {
		return nil
	}
	if a.Optional {
		v = v.Dot("Or").Call(jen.Qual(e.rt("attr"), "List").Types(e.elemType(&one)).Values())
	}
	return []jen.Code{jen.For(jen.List(jen.Id("_"), jen.Id("v")).Op(":=").Range().Add(v.Dot("Values").Call())).Block(each...)}
}

func (e *emitter) bound(a *model.Attr, v any) *jen.Statement { return jen.Id(fmt.Sprint(v)) }

func (e *emitter) record(f *jen.File, a *model.Attr) {
	comment(f, "%s is the value of the attribute %s.", a.GoName, a.Name)
	f.Type().Id(a.GoName).StructFunc(func(g *jen.Group) {
		for _, x := range a.Fields {
			comment(g, "%s is the field %s%s", x.GoName, x.Name, attrDoc(x))
			g.Id(x.GoName).Add(e.attrType(x)).Tag(map[string]string{"json": x.Name})
		}
	})
	for _, x := range a.Fields {
		if x.Enum != nil && x.Enum.Package == "" {
			f.Line()
			e.enum(f, x.Enum)
		}
	}
}

// enumNames returns the variable that holds the names of an enum's values.
func enumNames(en *model.Enum) string { return goname.Local(en.GoName) + "Names" }

// enum emits a type for an enum. In a package of its own, the constants need no prefix.
func (e *emitter) enum(f *jen.File, en *model.Enum) {
	prefix := en.GoName
	if en.Package != "" {
		prefix = ""
	}
	doc := ""
	if en.Doc != "" {
		doc = ": " + lowerFirst(strings.TrimRight(strings.TrimSpace(en.Doc), "."))
	}
	comment(f, "%s is a value of the enum %s%s. The zero %s is not set.", en.GoName, en.Name, doc, en.GoName)
	f.Type().Id(en.GoName).Uint8()
	f.Line()
	comment(f, "The values of %s.", en.GoName)
	f.Const().DefsFunc(func(g *jen.Group) {
		for i, v := range en.Values {
			s := jen.Id(prefix + v.GoName)
			if i == 0 {
				s = s.Id(en.GoName).Op("=").Iota().Op("+").Lit(1)
			}
			if v.Doc != "" {
				s = s.Comment(line(sentence(v.Doc)))
			}
			g.Add(s)
		}
	})
	f.Line()
	f.Var().Id(enumNames(en)).Op("=").Index(jen.Op("...")).String().ValuesFunc(func(g *jen.Group) {
		g.Lit("")
		for _, v := range en.Values {
			g.Lit(v.Name)
		}
	})
	f.Line()
	names := jen.Id(enumNames(en)).Index(jen.Op(":"))
	comment(f, "String returns the name that specs and plans use.")
	f.Func().Params(jen.Id("v").Id(en.GoName)).Id("String").Params().String().Block(
		jen.Return(jen.Qual(e.rt("attr"), "EnumString").Call(jen.Int().Call(jen.Id("v")), names.Clone())))
	f.Line()
	if en.Package != "" {
		comment(f, "Check returns an error unless v is a value of the enum, or not set and that is allowed.")
		f.Func().Params(jen.Id("v").Id(en.GoName)).Id("Check").Params(jen.List(jen.Id("operator"), jen.Id("attribute")).String(), jen.Id("optional").Bool()).Error().Block(
			jen.Return(jen.Qual(e.rt("attr"), "CheckEnum").Call(jen.Id("operator"), jen.Id("attribute"), jen.Int().Call(jen.Id("v")), names.Clone(), jen.Id("optional"))))
		f.Line()
	}
	comment(f, "MarshalJSON writes the name, or null.")
	f.Func().Params(jen.Id("v").Id(en.GoName)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Return(jen.Qual(e.rt("attr"), "MarshalEnum").Call(jen.Int().Call(jen.Id("v")), names.Clone())))
	f.Line()
	comment(f, "UnmarshalJSON reads a name; null leaves v as it is.")
	f.Func().Params(jen.Id("v").Op("*").Id(en.GoName)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.List(jen.Id("n"), jen.Err()).Op(":=").Qual(e.rt("attr"), "UnmarshalEnum").Call(jen.Id("data"), jen.Int().Call(jen.Op("*").Id("v")), names.Clone()),
		jen.Op("*").Id("v").Op("=").Id(en.GoName).Call(jen.Id("n")),
		jen.Return(jen.Err()),
	)
}
