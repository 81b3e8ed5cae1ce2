package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/dtype"
)

// exprs prints expressions as Go. In the code around them, a holds the attributes, d the dimensions and r the
// resolver. An axis attribute that an expression uses has a local variable, which holds the checked axis,
// counted from the front.
type exprs struct {
	e     *emitter
	spans map[string]span // of dimensions that expressions define, by their names
	plain bool            // there is no resolver, to which code could report that a number does not fit an int
}

// precedence gives the precedence of Go's binary operators.
var precedence = map[string]int{"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "+": 4, "-": 4, "*": 5}

// as returns an expression as Go of the given kind.
func (x *exprs) as(n expr.Node, want expr.Kind) string {
	if want != expr.Float || n.Type().Kind != expr.Int {
		return x.code(n, 0)
	}
	return x.float(n, 0)
}

// float returns an integer as a float in Go. Sums, differences and products are those of floats, which have
// no greatest number that is near.
func (x *exprs) float(n expr.Node, outer int) string {
	switch n := n.(type) {
	case *expr.Lit:
		return x.code(n, 0)
	case *expr.Binary:
		switch p := precedence[n.Op]; n.Op {
		case "+", "-":
			return enclose(x.float(n.X, p)+" "+n.Op+" "+x.float(n.Y, p+1), n.Op, outer)
		case "*":
			var small, large []string
			for _, f := range factors(n) {
				if b, ok := f.(*expr.Binary); ok && (b.Op == "+" || b.Op == "-") {
					large = append(large, x.float(f, p+1))
				} else {
					small = append(small, x.code(f, 0))
				}
			}
			if len(small) > 0 {
				large = append(large, "shape.Times("+strings.Join(small, ", ")+")")
			}
			return enclose(strings.Join(large, " * "), n.Op, outer)
		}
	}
	return "float64(" + x.code(n, 0) + ")"
}

// enclose puts an operation in parentheses if its operator has a lower precedence than outer.
func enclose(code, op string, outer int) string {
	if outer > precedence[op] {
		return "(" + code + ")"
	}
	return code
}

// code returns an expression as Go. Parentheses enclose it if its operator has a lower precedence than outer.
func (x *exprs) code(n expr.Node, outer int) string {
	switch n := n.(type) {
	case *expr.Lit:
		return x.literal(n)
	case *expr.Ident:
		return x.ident(n)
	case *expr.Unary:
		if c, ok := n.X.(*expr.Call); ok && n.Op == "!" && c.Func == "has" && zeroIsAbsent(c.Args[0]) {
			return enclose(x.code(c.Args[0], 0)+" == 0", "==", outer)
		}
		if n.Type().Kind == expr.Int && x.checked(n) {
			return "r.Sub(0, " + x.code(n.X, 0) + ")"
		}
		return n.Op + x.code(n.X, 6)
	case *expr.Binary:
		return x.binary(n, outer)
	case *expr.Cond:
		return x.cond(n)
	case *expr.Call:
		return x.call(n, outer)
	case *expr.GoCall:
		return "r.Extents(" + x.e.goFunc(n) + "(" + strings.Join(x.codes(n.Args), ", ") + "))"
	case *expr.Reduce:
		return x.fold(n)
	case *expr.Index:
		f := "Index"
		if n.X.Type().Kind == expr.Shapes {
			f = "Run"
		}
		return fmt.Sprintf("r.%s(%s, %s)", f, x.code(n.X, 0), x.code(n.I, 0))
	case *expr.Slice:
		return x.slice(n)
	case *expr.Select:
		v := x.code(n.X, 7)
		if t := n.X.Type(); t.Optional {
			v += ".Or(" + goname.Exported(t.Name) + "{})"
		}
		v += "." + goname.Exported(n.Field)
		if f := x.numbers(n); f != nil && !f.Optional {
			v += ".Float()"
		}
		if t := n.Type(); t.Kind == expr.Dims && !t.Optional {
			v += ".Values()"
		}
		return v
	case *expr.In:
		return x.in(n, outer)
	case bound:
		return n.name
	case *expr.List:
		return "[]int{" + strings.Join(x.codes(n.Elems), ", ") + "}"
	}
	panic(fmt.Sprintf("emit: want an expression of package expr, got %T", n))
}

// bound is the name of a Go variable that holds the value of an expression.
type bound struct {
	expr.Node
	name string
}

// slice returns a part of a list as Go.
func (x *exprs) slice(n *expr.Slice) string {
	of, lo := x.code(n.X, 0), "0"
	if n.Lo != nil {
		lo = x.code(n.Lo, 0)
	}
	switch {
	case n.Hi != nil:
		return fmt.Sprintf("r.Slice(%s, %s, %s)", of, lo, x.code(n.Hi, 0))
	case simple(n.X):
		return fmt.Sprintf("r.Slice(%s, %s, len(%[1]s))", of, lo)
	}
	return fmt.Sprintf("func() []int { v := %s; return r.Slice(v, %s, len(v)) }()", of, lo)
}

// in returns a comparison with each element of a list as Go. A value that takes more than a name to write is
// computed once, so that code is not larger than the expression.
func (x *exprs) in(n *expr.In, outer int) string {
	value := n.X
	if !simple(n.X) {
		value = bound{n.X, "v"}
	}
	var tests []string
	for _, e := range n.List {
		tests = append(tests, x.binary(&expr.Binary{Op: "==", X: value, Y: e}, 0))
	}
	if !simple(n.X) {
		return fmt.Sprintf("func() bool { v := %s; return %s }()", x.code(n.X, 0), strings.Join(tests, " || "))
	}
	if len(tests) == 1 {
		return enclose(tests[0], "==", outer)
	}
	return enclose(strings.Join(tests, " || "), "||", outer)
}

// simple reports whether an expression is a name, a literal, a field, or the length of a name.
func simple(n expr.Node) bool {
	switch n := n.(type) {
	case *expr.Ident, *expr.Lit:
		return true
	case *expr.Select:
		_, named := n.X.(*expr.Ident)
		return named
	case *expr.Call:
		return n.Func == "len" && simple(n.Args[0])
	}
	return false
}

// not returns the negation of a condition as Go.
func (x *exprs) not(n expr.Node) string {
	if u, ok := n.(*expr.Unary); ok && u.Op == "!" {
		return x.code(u.X, 0)
	}
	return "!" + x.code(n, 6)
}

// codes returns expressions as Go.
func (x *exprs) codes(nodes []expr.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, x.code(n, 0))
	}
	return out
}

// goTypes are the Go types of the values that a condition can have.
var goTypes = map[expr.Kind]string{expr.Int: "int", expr.Float: "float64", expr.Bool: "bool", expr.Dims: "[]int"}

// later returns an expression as a function literal. A fallible expression is evaluated only where its value
// is used.
func (x *exprs) later(n expr.Node, kind expr.Kind) string {
	return "func() " + goTypes[kind] + " { return " + x.as(n, kind) + " }"
}

func (x *exprs) cond(n *expr.Cond) string {
	kind := n.Type().Kind
	if x.fallible(n.Then) || x.fallible(n.Else) {
		return fmt.Sprintf("shape.Choose(%s, %s, %s)", x.code(n.If, 0), x.later(n.Then, kind), x.later(n.Else, kind))
	}
	return fmt.Sprintf("shape.If(%s, %s, %s)", x.code(n.If, 0), x.as(n.Then, kind), x.as(n.Else, kind))
}

func (x *exprs) literal(n *expr.Lit) string {
	switch v := n.Value.(type) {
	case int64, bool:
		return fmt.Sprint(v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	}
	v := n.Value.(string)
	switch t := n.Type(); t.Kind {
	case expr.Enum:
		return x.e.enumConst(t.Name, v)
	case expr.DType:
		p, _ := dtype.Parse(v)
		return "dtype." + dtypeConst(p)
	}
	return strconv.Quote(v)
}

// dtypeConst returns the name of an element type's constant: F32, BF16, Bool.
func dtypeConst(t dtype.Type) string {
	if t == dtype.Bool || t == dtype.String {
		return goname.Exported(t.String())
	}
	return strings.ToUpper(t.String())
}

func (x *exprs) ident(n *expr.Ident) string {
	switch n.Symbol.Class {
	case expr.Attr:
		a := x.e.attr(n.Name)
		switch {
		case a.Optional:
		case a.Axis != nil && a.Axis.Binds != "":
			return "len(d." + x.e.before(a) + ")" // the number of dimensions in front of it
		case a.Axis != nil:
			return x.e.axisVar(a)
		case n.Symbol.Type.Kind == expr.Dims:
			return "a." + a.GoName + ".Values()"
		case x.numbers(n) != nil:
			return "a." + a.GoName + ".Float()"
		}
		return "a." + a.GoName
	case expr.Dim:
		return "d." + n.Name
	case expr.Position:
		return x.e.indexVar(n.Name)
	case expr.TypeVar:
		return x.e.boundType(n.Name)
	}
	return "Slot" + goname.Exported(n.Name)
}

// numbers returns the attribute, or the field of a record, that is a number of any type, or nil.
func (x *exprs) numbers(n expr.Node) *model.Attr {
	var a *model.Attr
	switch n := n.(type) {
	case *expr.Ident:
		a = x.e.attr(n.Name)
	case *expr.Select:
		if id, ok := n.X.(*expr.Ident); ok {
			if r := x.e.attr(id.Name); r != nil {
				if i := slices.IndexFunc(r.Fields, func(f *model.Attr) bool { return f.Name == n.Field }); i >= 0 {
					a = r.Fields[i]
				}
			}
		}
	}
	if a == nil || a.Type != "number" || a.List {
		return nil
	}
	return a
}

// boundType returns, as Go, the element type of a dtype variable.
func (e *emitter) boundType(name string) string { return "r.Type(" + strconv.Quote(name) + ")" }

// before returns the run of dimensions in front of the one that an axis attribute binds.
func (e *emitter) before(a *model.Attr) string {
	for _, s := range e.op.Slots {
		if s.Name == a.Axis.Slot {
			return s.Lane
		}
	}
	panic("emit: no slot " + a.Axis.Slot)
}

// axisVar returns the name of the local variable that holds the checked value of an axis attribute.
func (e *emitter) axisVar(a *model.Attr) string {
	return local(a.Name, append(e.taken(), "i")...)
}

// taken returns the names that variables of the code around expressions, or packages, have.
func (e *emitter) taken() []string {
	taken := []string{"a", "d", "r", "t", "x", "n", "v", "ok", "len", "min", "max", "int", "bool", "lanes", "extent", "opimpl", "shape", "dtype", "math"}
	for _, t := range e.op.Types {
		taken = append(taken, typeVar(t))
	}
	for _, d := range e.op.Dims {
		taken = append(taken, "prod"+goname.Exported(d.Name))
	}
	for _, en := range e.op.Attrs {
		if en.Enum != nil {
			taken = append(taken, en.Enum.Package, en.Enum.Package+"_")
		}
	}
	return taken
}

// local returns a name for a local variable or parameter, with an underscore if it is taken.
func local(name string, taken ...string) string {
	s := goname.Local(name)
	if slices.Contains(taken, s) {
		s += "_"
	}
	return s
}

func (x *exprs) binary(n *expr.Binary, outer int) string {
	if n.Type().Kind == expr.Int {
		switch n.Op {
		case "/":
			return fmt.Sprintf("shape.FloorDiv(%s, %s)", x.code(n.X, 0), x.code(n.Y, 0))
		case "%":
			return fmt.Sprintf("shape.Mod(%s, %s)", x.code(n.X, 0), x.code(n.Y, 0))
		}
		if x.checked(n) {
			return x.arithmetic(n)
		}
	}
	p := precedence[n.Op]
	if n.Op == "/" {
		p = 5
	}
	float := n.X.Type().Kind == expr.Float || n.Y.Type().Kind == expr.Float
	operand := func(m expr.Node, outer int) string {
		if float && m.Type().Kind == expr.Int {
			return x.float(m, outer)
		}
		return x.code(m, outer)
	}
	if n.X.Type().Kind == expr.Dims && (n.Op == "==" || n.Op == "!=") {
		return strings.Trim(n.Op, "=") + fmt.Sprintf("shape.Equal(%s, %s)", x.code(n.X, 0), x.code(n.Y, 0))
	}
	s := operand(n.X, p) + " " + n.Op + " " + operand(n.Y, p+1)
	if p < outer {
		return "(" + s + ")"
	}
	return s
}

func (x *exprs) call(n *expr.Call, outer int) string {
	arg := func(i int) string { return x.code(n.Args[i], 0) } // each is printed once, so that time is linear
	if k := n.Fold(); k != 0 {
		return x.folded(k) + "(" + arg(0) + ")"
	}
	switch n.Func {
	case "len":
		if n.Args[0].Type().Kind == expr.OtherList {
			return arg(0) + ".Len()"
		}
		return "len(" + arg(0) + ")"
	case "ceildiv":
		return "shape.CeilDiv(" + arg(0) + ", " + arg(1) + ")"
	case "min", "max":
		var args []string
		for _, a := range n.Args {
			args = append(args, x.as(a, n.Type().Kind))
		}
		return n.Func + "(" + strings.Join(args, ", ") + ")"
	case "broadcast", "keep", "drop", "ones", "insert", "permute":
		return fmt.Sprintf("r.%s(%s, %s)", goname.Exported(n.Func), arg(0), arg(1))
	case "ceil":
		if x.plain {
			return "int(math.Ceil(" + x.as(n.Args[0], expr.Float) + "))"
		}
		return "r.Ceil(" + x.as(n.Args[0], expr.Float) + ")"
	case "sqrt":
		return "math.Sqrt(" + x.as(n.Args[0], expr.Float) + ")"
	case "log2":
		return "math.Log2(" + x.as(n.Args[0], expr.Float) + ")"
	case "has":
		if zeroIsAbsent(n.Args[0]) {
			return enclose(arg(0)+" != 0", "!=", outer)
		}
		return arg(0) + ".Has()"
	case "or":
		v := arg(0)
		if x.numbers(n.Args[0]) != nil {
			v = "attr.Floats(" + v + ")"
		}
		v += ".Or"
		if x.fallible(n.Args[1]) {
			v += "Else(" + x.later(n.Args[1], n.Type().Kind) + ")"
		} else {
			v += "(" + x.as(n.Args[1], n.Type().Kind) + ")"
		}
		if isAxis(n.Args[0]) {
			return checkAxis(x.e.attr(n.Args[0].(*expr.Ident).Name), "", v)
		}
		return v
	case "count":
		if x.e.onRequest(n.Args[0]) {
			return "r.Asked(" + arg(0) + ")"
		}
		return "r.Len(" + arg(0) + ")"
	case "places":
		return "r.Places(" + arg(0) + ")"
	case "present":
		if x.e.onRequest(n.Args[0]) {
			return "r.Requested(" + arg(0) + ")"
		}
		return "r.Has(" + arg(0) + ")"
	}
	panic("emit: unknown function " + n.Func)
}

// onRequest reports whether an expression names an output that is made on request.
func (e *emitter) onRequest(n expr.Node) bool {
	id, ok := n.(*expr.Ident)
	return ok && slices.ContainsFunc(e.op.Slots, func(s *model.Slot) bool { return s.Name == id.Name && s.OnRequest })
}

// checkAxis returns the call that checks the value of an axis attribute against the rank of a tensor, by
// default that of its slot.
func checkAxis(a *model.Attr, of, value string) string {
	f := "Axis"
	switch {
	case a.Type == "axes":
		f, value = "Axes", value+".Values()"
	case a.Axis.End:
		f = "AxisEnd"
	}
	if of == "" {
		of = "r.Tensor(Slot" + goname.Exported(a.Axis.Slot) + ")"
	}
	return fmt.Sprintf("%s.%s(%q, %s)", of, f, a.Name, value)
}

// dims returns a shape as variadic extents.
func (x *exprs) dims(shape []scope.ShapeExpr) string {
	if len(shape) == 1 && shape[0].Rest {
		return x.code(shape[0].Node, 0) + "..."
	}
	// Neighbors that are single dimensions become one []int.
	var parts, single []string
	flush := func() {
		if len(single) > 0 {
			parts, single = append(parts, "[]int{"+strings.Join(single, ", ")+"}"), nil
		}
	}
	for _, s := range shape {
		if !s.Rest {
			single = append(single, x.code(s.Node, 0))
			continue
		}
		flush()
		parts = append(parts, x.code(s.Node, 0))
	}
	if parts == nil {
		return strings.Join(single, ", ")
	}
	flush()
	return "shape.Concat(" + strings.Join(parts, ", ") + ")..."
}

// zeroIsAbsent reports whether zero means that an optional attribute is absent. Enums and element types have
// no other use of zero.
func zeroIsAbsent(n expr.Node) bool {
	k := n.Type().Kind
	return k == expr.Enum || k == expr.DType
}

// enumConst returns the constant for a value of an enum. The enum belongs to an attribute, or is shared.
func (e *emitter) enumConst(enum, value string) string {
	for _, a := range e.op.Attrs {
		for _, f := range append([]*model.Attr{a}, a.Fields...) {
			if f.Enum == nil || cmp.Or(f.EnumName, f.Enum.Name) != enum {
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

func (e *emitter) enumValue(en *model.Enum, v model.EnumValue) string {
	if en.Package != "" {
		return e.enumPkg(en) + "." + v.GoName
	}
	return en.GoName + v.GoName
}
