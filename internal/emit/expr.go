package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/dtype"
)

// exprs writes expressions as Go. In the code around them, a holds the attributes, d the dimensions
// and r the resolution. Axis attributes that expressions use stand, checked and made positive, in
// local variables.
type exprs struct{ e *emitter }

// binding strengths of Go's operators
var precedence = map[string]int{"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "+": 4, "-": 4, "*": 5}

// as returns an expression as Go of the given kind.
func (x *exprs) as(n expr.Node, want expr.Kind) *jen.Statement {
	if want == expr.Float && n.Type().Kind == expr.Int {
		if l, ok := n.(*expr.Lit); ok {
			return jen.Lit(int(l.Value.(int64)))
		}
		return jen.Float64().Call(x.code(n, 0))
	}
	return x.code(n, 0)
}

// code returns an expression as Go; in parentheses if its operator binds less tightly than outer.
func (x *exprs) code(n expr.Node, outer int) *jen.Statement {
	switch n := n.(type) {
	case *expr.Lit:
		return x.literal(n)
	case *expr.Ident:
		return x.ident(n)
	case *expr.Unary:
		if c, ok := n.X.(*expr.Call); ok && n.Op == "!" && c.Func == "has" && zeroIsAbsent(c.Args[0]) {
			s := x.code(c.Args[0], 0).Op("==").Lit(0)
			if outer > precedence["=="] {
				return jen.Parens(s)
			}
			return s
		}
		return jen.Op(n.Op).Add(x.code(n.X, 6))
	case *expr.Binary:
		return x.binary(n, outer)
	case *expr.Cond:
		return x.cond(n)
	case *expr.Call:
		return x.call(n, outer)
	case *expr.Index:
		f := "Index"
		if n.X.Type().Kind == expr.Shapes {
			f = "Run"
		}
		return jen.Id("r").Dot(f).Call(x.code(n.X, 0), x.code(n.I, 0))
	case *expr.Slice:
		lo, hi := jen.Lit(0), jen.Len(x.code(n.X, 0))
		if n.Lo != nil {
			lo = x.code(n.Lo, 0)
		}
		if n.Hi != nil {
			hi = x.code(n.Hi, 0)
		}
		return jen.Id("r").Dot("Slice").Call(x.code(n.X, 0), lo, hi)
	case *expr.Select:
		v := x.code(n.X, 7)
		if t := n.X.Type(); t.Optional {
			v = v.Dot("Or").Call(jen.Id(goname.Exported(t.Name)).Values())
		}
		return v.Dot(goname.Exported(n.Field))
	case *expr.In:
		var s *jen.Statement
		for i, e := range n.List {
			c := x.binary(&expr.Binary{Op: "==", X: n.X, Y: e}, 0)
			if i == 0 {
				s = c
			} else {
				s = s.Op("||").Add(c)
			}
		}
		if s == nil {
			return jen.False()
		}
		if len(n.List) > 1 && outer > precedence["||"] || len(n.List) == 1 && outer > precedence["=="] {
			return jen.Parens(s)
		}
		return s
	case *expr.List:
		return jen.Index().Int().ValuesFunc(func(g *jen.Group) {
			for _, e := range n.Elems {
				g.Add(x.code(e, 0))
			}
		})
	}
	panic("emit: unknown expression")
}

// goTypes are the Go types of the values that a condition can have.
var goTypes = map[expr.Kind]*jen.Statement{
	expr.Int: jen.Int(), expr.Float: jen.Float64(), expr.Bool: jen.Bool(), expr.Dims: jen.Index().Int(),
}

// later returns an expression as a function, for one that need not have a value.
func (x *exprs) later(n expr.Node, kind expr.Kind) *jen.Statement {
	return jen.Func().Params().Add(goTypes[kind].Clone()).Op("{").Return(x.as(n, kind)).Op("}") // on one line
}

func (x *exprs) cond(n *expr.Cond) *jen.Statement {
	kind := n.Type().Kind
	if fallible(n.Then) || fallible(n.Else) {
		return x.shape("Choose").Call(x.code(n.If, 0), x.later(n.Then, kind), x.later(n.Else, kind))
	}
	return x.shape("If").Call(x.code(n.If, 0), x.as(n.Then, kind), x.as(n.Else, kind))
}

func (x *exprs) shape(name string) *jen.Statement { return jen.Qual(x.e.rt("shape"), name) }

func (x *exprs) literal(n *expr.Lit) *jen.Statement {
	switch v := n.Value.(type) {
	case int64:
		return jen.Lit(int(v))
	case float64:
		return jen.Lit(v)
	case bool:
		return jen.Lit(v)
	}
	v := n.Value.(string)
	switch t := n.Type(); t.Kind {
	case expr.Enum:
		return x.e.enumConst(t.Name, v)
	case expr.DType:
		p, _ := dtype.Parse(v)
		return jen.Qual(x.e.rt("dtype"), dtypeConst(p))
	}
	return jen.Lit(v)
}

// dtypeConst returns the name of an element type's constant: F32, BF16, Bool.
func dtypeConst(t dtype.Type) string {
	if t == dtype.Bool || t == dtype.String {
		return goname.Exported(t.String())
	}
	return strings.ToUpper(t.String())
}

func (x *exprs) ident(n *expr.Ident) *jen.Statement {
	switch n.Symbol.Class {
	case expr.Attr:
		a := x.e.attr(n.Name)
		switch {
		case a.Optional:
		case a.Axis != nil && a.Axis.Binds != "":
			return jen.Len(jen.Id("d").Dot(x.e.before(a))) // where that dimension stands
		case a.Axis != nil:
			return jen.Id(x.e.axisVar(a))
		case n.Symbol.Type.Kind == expr.Dims:
			return jen.Id("a").Dot(a.GoName).Dot("Values").Call()
		}
		return jen.Id("a").Dot(a.GoName)
	case expr.Dim:
		return jen.Id("d").Dot(n.Name)
	case expr.Position:
		return jen.Id(n.Name)
	case expr.TypeVar:
		for i, t := range x.e.op.Types {
			if t.Name == n.Name {
				return jen.Id("r").Dot("Types").Index(jen.Lit(i))
			}
		}
	}
	return jen.Id("Slot" + goname.Exported(n.Name))
}

// before returns the run of dimensions in front of the one that an axis attribute binds.
func (e *emitter) before(a *model.Attr) string {
	for _, s := range e.op.Slots {
		if s.Name == a.Axis.Slot {
			return s.Lane
		}
	}
	panic("emit: no slot " + a.Axis.Slot)
}

// axisVar is the local variable that holds a checked axis, or several.
func (e *emitter) axisVar(a *model.Attr) string {
	taken := []string{"a", "d", "i", "r", "x", "n", "v", "ok", "attrs", "len", "min", "max", "int", "task", "shape", "dtype", "math"}
	for _, t := range e.op.Types {
		taken = append(taken, typeVar(t))
	}
	for _, en := range e.op.Attrs {
		if en.Enum != nil {
			taken = append(taken, en.Enum.Package)
		}
	}
	return local(a.Name, taken...)
}

// local returns a name for a local variable or parameter, with an underscore if it is taken.
func local(name string, taken ...string) string {
	s := goname.Local(name)
	if slices.Contains(taken, s) {
		s += "_"
	}
	return s
}

func (x *exprs) binary(n *expr.Binary, outer int) *jen.Statement {
	kind := n.Type().Kind
	if kind == expr.Int {
		switch n.Op {
		case "/":
			return x.shape("FloorDiv").Call(x.code(n.X, 0), x.code(n.Y, 0))
		case "%":
			return x.shape("Mod").Call(x.code(n.X, 0), x.code(n.Y, 0))
		}
	}
	p := precedence[n.Op]
	if n.Op == "/" {
		p = 5
	}
	operand := func(m expr.Node, outer int) *jen.Statement {
		float := n.X.Type().Kind == expr.Float || n.Y.Type().Kind == expr.Float
		if float && m.Type().Kind == expr.Int {
			return x.as(m, expr.Float)
		}
		return x.code(m, outer)
	}
	if n.X.Type().Kind == expr.Dims && (n.Op == "==" || n.Op == "!=") {
		c := x.shape("Equal").Call(x.code(n.X, 0), x.code(n.Y, 0))
		if n.Op == "!=" {
			c = jen.Op("!").Add(c)
		}
		return c
	}
	s := operand(n.X, p).Op(n.Op).Add(operand(n.Y, p+1))
	if p < outer {
		return jen.Parens(s)
	}
	return s
}

func (x *exprs) call(n *expr.Call, outer int) *jen.Statement {
	arg := func(i int) *jen.Statement { return x.code(n.Args[i], 0) }
	switch n.Func {
	case "prod":
		return x.shape("Prod").Call(arg(0))
	case "sum":
		return x.shape("Sum").Call(arg(0))
	case "len":
		return jen.Len(arg(0))
	case "ceildiv":
		return x.shape("CeilDiv").Call(arg(0), arg(1))
	case "min", "max":
		return jen.Id(n.Func).CallFunc(func(g *jen.Group) {
			for _, a := range n.Args {
				g.Add(x.as(a, n.Type().Kind))
			}
		})
	case "broadcast", "keep", "drop", "ones", "insert", "permute":
		return jen.Id("r").Dot(goname.Exported(n.Func)).Call(arg(0), arg(1))
	case "ceil":
		return jen.Int().Call(jen.Qual("math", "Ceil").Call(x.as(n.Args[0], expr.Float)))
	case "sqrt":
		return jen.Qual("math", "Sqrt").Call(x.as(n.Args[0], expr.Float))
	case "has":
		if zeroIsAbsent(n.Args[0]) {
			c := arg(0).Op("!=").Lit(0)
			if outer > 3 {
				return jen.Parens(c)
			}
			return c
		}
		return arg(0).Dot("Has").Call()
	case "or":
		v := arg(0).Dot("Or").Call(x.as(n.Args[1], n.Type().Kind))
		if fallible(n.Args[1]) {
			v = arg(0).Dot("OrElse").Call(x.later(n.Args[1], n.Type().Kind))
		}
		if isAxis(n.Args[0]) {
			return x.e.checkAxis(x.e.attr(n.Args[0].(*expr.Ident).Name), v)
		}
		return v
	case "count":
		return x.e.task("Tensors").Call(jen.Id("r"), arg(0))
	case "present":
		return x.e.task("Has").Call(jen.Id("r"), arg(0))
	}
	panic("emit: unknown function " + n.Func)
}

// checkAxis returns the call that checks the value of an axis attribute.
func (e *emitter) checkAxis(a *model.Attr, value *jen.Statement) *jen.Statement {
	f := "Axis"
	switch {
	case a.Type == "axes":
		f, value = "Axes", value.Dot("Values").Call()
	case a.Axis.End:
		f = "AxisEnd"
	}
	return e.task(f).Call(jen.Id("r"), jen.Id("Slot"+goname.Exported(a.Axis.Slot)), jen.Lit(a.Name), value)
}

// dims returns a shape as the variadic dims of task.Set.
func (x *exprs) dims(shape []scope.ShapeExpr) []jen.Code {
	rest := false
	for _, s := range shape {
		rest = rest || s.Rest
	}
	if !rest {
		var out []jen.Code
		for _, s := range shape {
			out = append(out, x.code(s.Node, 0))
		}
		return out
	}
	if len(shape) == 1 {
		return []jen.Code{x.code(shape[0].Node, 0).Op("...")}
	}
	// Runs of single dimensions become one []int each.
	var parts []jen.Code
	for i := 0; i < len(shape); {
		if shape[i].Rest {
			parts = append(parts, x.code(shape[i].Node, 0))
			i++
			continue
		}
		var single []jen.Code
		for ; i < len(shape) && !shape[i].Rest; i++ {
			single = append(single, x.code(shape[i].Node, 0))
		}
		parts = append(parts, jen.Index().Int().Values(single...))
	}
	return []jen.Code{x.shape("Concat").Call(parts...).Op("...")}
}

// zeroIsAbsent reports whether an optional attribute is absent when it is zero: enums and element
// types, whose values are not zero.
func zeroIsAbsent(n expr.Node) bool {
	k := n.Type().Kind
	return k == expr.Enum || k == expr.DType
}

// enumConst returns the constant of a value of an enum, of this operator or shared.
func (e *emitter) enumConst(enum, value string) *jen.Statement {
	for _, a := range e.op.Attrs {
		for _, f := range append([]*model.Attr{a}, a.Fields...) {
			if f.Enum == nil || f.Enum.Name != enum {
				continue
			}
			for _, v := range f.Enum.Values {
				if v.Name == value {
					return e.enumValue(f.Enum, v)
				}
			}
		}
	}
	panic("emit: no enum " + enum + " with a value " + value)
}

func (e *emitter) enumValue(en *model.Enum, v model.EnumValue) *jen.Statement {
	if en.Package != "" {
		return jen.Qual(e.gen(en.Package), v.GoName)
	}
	return jen.Id(en.GoName + v.GoName)
}
