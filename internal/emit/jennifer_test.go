package emit

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
)

// activation is a shared enum of a usual size.
var activation = &model.Enum{Name: "activation", Package: "activation", GoName: "Activation", Doc: "a function of an element", Source: "specs/activation.toml",
	Values: []model.EnumValue{{Name: "RELU", GoName: "Relu", Doc: "max(x, 0)"}, {Name: "SIGMOID", GoName: "Sigmoid"}, {Name: "TANH", GoName: "Tanh"}, {Name: "GELU", GoName: "Gelu"}}}

// enumByJennifer emits the file of a shared enum from values of jennifer, without comments. It is the other
// half of the comparison in docs/adr/0090-text-of-generated-go.md.
func enumByJennifer(p Paths, en *model.Enum) ([]byte, error) {
	attr := p.Runtime + "/attr"
	f := jen.NewFile(en.Package)
	f.Type().Id(en.GoName).Uint8()
	var values []jen.Code
	names := []jen.Code{jen.Lit("")}
	for i, v := range en.Values {
		value := jen.Id(v.GoName)
		if i == 0 {
			value.Id(en.GoName).Op("=").Iota().Op("+").Lit(1)
		}
		values = append(values, value)
		names = append(names, jen.Lit(v.Name))
	}
	f.Const().Defs(values...)
	table := goname.Local(en.GoName) + "Names"
	f.Var().Id(table).Op("=").Index(jen.Op("...")).String().Values(names...)
	list := func() jen.Code { return jen.Id(table).Index(jen.Empty(), jen.Empty()) }
	number := func() jen.Code { return jen.Int().Call(jen.Id("v")) }
	receiver := func() jen.Code { return jen.Id("v").Id(en.GoName) }
	f.Func().Params(receiver()).Id("String").Params().String().Block(
		jen.Return(jen.Qual(attr, "EnumString").Call(number(), list())))
	f.Func().Params(receiver()).Id("Check").Params(jen.List(jen.Id("operator"), jen.Id("attribute")).String(), jen.Id("optional").Bool()).Error().Block(
		jen.Return(jen.Qual(attr, "CheckEnum").Call(jen.Id("operator"), jen.Id("attribute"), number(), list(), jen.Id("optional"))))
	f.Func().Params(receiver()).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Return(jen.Qual(attr, "MarshalEnum").Call(number(), list())))
	f.Func().Params(jen.Id("v").Op("*").Id(en.GoName)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.List(jen.Id("n"), jen.Err()).Op(":=").Qual(attr, "UnmarshalEnum").Call(jen.Id("data"), jen.Int().Call(jen.Op("*").Id("v")), list()),
		jen.Op("*").Id("v").Op("=").Id(en.GoName).Call(jen.Id("n")),
		jen.Return(jen.Err()))
	var out bytes.Buffer
	err := f.Render(&out)
	return out.Bytes(), err
}

// TestEmitters compares both emitters: their files have the same tokens.
func TestEmitters(t *testing.T) {
	files, err := Enum(testPaths, activation)
	if err != nil {
		t.Fatal(err)
	}
	jennifer, err := enumByJennifer(testPaths, activation)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tokensOf(files[0].Data), tokensOf(jennifer); got != want {
		t.Errorf("the text has other tokens than jennifer's values:\n%s\nwant\n%s", got, want)
	}
}

// tokensOf lists the tokens of a file, without comments, ends of lines and the parentheses around one import.
func tokensOf(src []byte) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(src)), src, nil, 0)
	var out strings.Builder
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return strings.NewReplacer("import ( \"example.com/rt/attr\" )", "import \"example.com/rt/attr\"", "attr \"example", "\"example").Replace(out.String())
		case tok == token.SEMICOLON || tok == token.COMMA:
		case tok.IsLiteral() || tok.IsKeyword():
			fmt.Fprintf(&out, "%s ", lit)
		default:
			fmt.Fprintf(&out, "%s ", tok)
		}
	}
}

// BenchmarkEmitters times both emitters on one enum.
func BenchmarkEmitters(b *testing.B) {
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Enum(testPaths, activation); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("jennifer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := enumByJennifer(testPaths, activation); err != nil {
				b.Fatal(err)
			}
		}
	})
}
