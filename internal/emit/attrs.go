package emit

import (
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
	for _, line := range wrap(fmt.Sprintf("Package %s is the operator %s.\n\n%s", o.Package, o.Name, sentence(o.Doc)), 97) {
		f.PackageComment(strings.TrimRight("// "+line, " "))
	}
	if o.Deprec != "" {
		f.PackageComment("//\n// Deprecated: " + sentence(o.Deprec))
	}
	comment(f, "Attrs are the attributes of %s. They are compared with ==.", o.Name)
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
			if a.Default != nil && !zero(a.Default) {
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
	if a.Doc != "" {
		s = ": " + strings.TrimRight(lowerFirst(strings.TrimSpace(a.Doc)), ".")
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

func zero(v any) bool {
	s := fmt.Sprint(v)
	return s == "0" || s == "0.0" || s == "false" || s == "" || s == "[]"
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
		return jen.Qual(e.rt("attr"), "ListOf").CallFunc(func(g *jen.Group) {
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
	o := e.op
	comment(f, "Validate reports the first attribute that is missing or outside its range.")
	var checks []jen.Code
	for _, a := range o.Attrs {
		checks = append(checks, e.checks(a, jen.Id("a").Dot(a.GoName))...)
	}
	f.Func().Params(jen.Id("a").Id("Attrs")).Id("Validate").Params().Error().BlockFunc(func(g *jen.Group) {
		for _, c := range checks {
			g.Add(c)
		}
		g.Return(jen.Nil())
	})
}

// checks returns the statements that check the value v of an attribute.
func (e *emitter) checks(a *model.Attr, v *jen.Statement) []jen.Code {
	failIf := func(c *jen.Statement) jen.Code {
		return jen.If(jen.Err().Op(":=").Add(c), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
	}
	check := func(name string, args ...jen.Code) *jen.Statement {
		return jen.Qual(e.rt("attr"), name).Call(append([]jen.Code{jen.Lit(e.op.Name), jen.Lit(a.Name)}, args...)...)
	}
	var out []jen.Code
	if a.Type == "enum" && !a.List {
		if a.Enum.Package != "" {
			out = append(out, failIf(v.Clone().Dot("Check").Call(jen.Lit(e.op.Name), jen.Lit(a.Name), jen.Lit(a.Optional))))
		} else {
			out = append(out, failIf(check("CheckEnum", jen.Int().Call(v.Clone()), jen.Id(enumNames(a.Enum)).Index(jen.Op(":")), jen.Lit(a.Optional))))
		}
	}
	bounded := a.Min != nil || a.Max != nil
	var inner []jen.Code
	x := v
	if a.Optional || a.List {
		x = jen.Id("v")
	}
	if a.Min != nil {
		inner = append(inner, failIf(check("CheckMin", x.Clone(), e.bound(a, a.Min))))
	}
	if a.Max != nil {
		inner = append(inner, failIf(check("CheckMax", x.Clone(), e.bound(a, a.Max))))
	}
	if a.Type == "record" && !a.Optional {
		for _, fl := range a.Fields {
			out = append(out, e.checks(fl, v.Clone().Dot(fl.GoName))...)
		}
	}
	if a.Type == "record" && a.Optional {
		for _, fl := range a.Fields {
			inner = append(inner, e.checks(fl, jen.Id("v").Dot(fl.GoName))...)
		}
		bounded = len(inner) > 0
	}
	switch {
	case !bounded:
	case a.List && !a.Optional:
		out = append(out, jen.For(jen.List(jen.Id("_"), jen.Id("v")).Op(":=").Range().Add(v.Clone().Dot("Values").Call())).Block(inner...))
	case a.Optional:
		out = append(out, jen.If(jen.List(jen.Id("v"), jen.Id("ok")).Op(":=").Add(v.Clone().Dot("Get").Call()), jen.Id("ok")).Block(inner...))
	default:
		out = append(out, inner...)
	}
	return out
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
				s = s.Comment(sentence(v.Doc))
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
