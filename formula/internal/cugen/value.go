package cugen

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// literal returns the C literal of a real number.
func (f *function) literal(v float64) string {
	switch {
	case math.IsNaN(v):
		return "(" + f.real() + ")OPGEN_NAN"
	case math.IsInf(v, 1):
		return "(" + f.real() + ")OPGEN_INF"
	case math.IsInf(v, -1):
		return "(" + f.real() + ")-OPGEN_INF"
	}
	bits := 64
	if f.real() == ctypes[dtype.F32] {
		bits = 32
		if w := float32(v); math.IsInf(float64(w), 0) {
			return f.literal(float64(w))
		}
	}
	out := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(out, ".e") {
		out += ".0"
	}
	if bits == 32 {
		out += "f"
	}
	if v < 0 {
		out = "(" + out + ")"
	}
	return out
}

// number writes code that computes n as a real number, and returns a C expression for it.
func (f *function) number(n *term.Term) string {
	if v, ok := n.Settled(); ok && n.Kind != term.Boolean {
		return f.literal(v)
	}
	switch n.Kind {
	case term.Integer:
		return fmt.Sprintf("(%s)%s", f.real(), f.integer(n))
	case term.Boolean:
		return fmt.Sprintf("(%s)(%s)", f.real(), f.condition(n))
	}
	if f.real() != ctypes[dtype.F64] && n.Op != term.Element && !n.Reduces() && loops.OfIntegers(n, f.exacts) {
		return f.exactly(n)
	}
	switch n.Op {
	case term.Element:
		return f.element(n, f.typeOf(n), func(x *term.Term) string { return f.number(x) })
	case term.Choose:
		return f.choice(n, f.typeOf(n), f.number)
	case term.Reduce:
		return f.rounded("(" + f.reduce(n) + ")")
	case term.Negate:
		return f.short("(-" + f.number(n.Args[0]) + ")")
	case term.Apply:
		return f.apply(n)
	}
	x := f.number(n.Args[0])
	if n.Op == term.Power {
		return f.power(n, x)
	}
	y := f.number(n.Args[1])
	switch n.Op {
	case term.Add:
		return f.short("(" + x + " + " + y + ")")
	case term.Subtract:
		return f.short("(" + x + " - " + y + ")")
	case term.Multiply:
		return f.short("(" + x + " * " + y + ")")
	case term.Divide:
		return f.name(f.typeOf(n), "ratio", x+" / "+y)
	}
	f.fail("a real number", n)
	return "0"
}

// power returns a C expression for n, whose base is x. Small constant exponents become products, quotients
// and roots, which are exact if the result is representable: CUDA's pow is not.
func (f *function) power(n *term.Term, x string) string {
	v, settled := n.Args[1].Settled()
	if !settled {
		return f.name(f.real(), "power", fmt.Sprintf("opgen_pow(%s, %s)", f.rounded(x), f.rounded(f.number(n.Args[1]))))
	}
	square := func(x, hint string) (name, squared string) {
		name = f.name(f.typeOf(n.Args[0]), hint, x)
		return name, f.short("(" + name + " * " + name + ")")
	}
	switch v {
	case 1:
		return x
	case 2:
		_, squared := square(x, "x")
		return squared
	case 3:
		base, squared := square(x, "x")
		return f.short("(" + squared + " * " + base + ")")
	case 4:
		_, squared := square(x, "x")
		_, squared = square(squared, "square")
		return squared
	case -1:
		return f.name(f.typeOf(n.Args[0]), "inverse", f.literal(1)+" / "+x)
	case 0.5:
		return f.name(f.real(), "root", fmt.Sprintf("opgen_root(%s)", f.rounded(x)))
	}
	return f.name(f.real(), "power", fmt.Sprintf("opgen_pow(%s, %s)", f.rounded(x), f.literal(v)))
}

// exactly writes an integer-valued expression in double, and rounds it once to the compute type. A large
// angle that was rounded before its sine is computed would lose digits.
func (f *function) exactly(n *term.Term) string {
	f.exact = true
	x := f.number(n)
	f.exact = false
	return f.name(f.real(), "exact", "("+f.real()+")"+x)
}

// real is the C type in which real numbers are computed at the moment.
func (f *function) real() string {
	if f.exact {
		return ctypes[dtype.F64]
	}
	return f.generator.real()
}

// typeOf returns the C type of a real term.
func (f *function) typeOf(n *term.Term) string {
	if f.exact {
		return ctypes[dtype.F64]
	}
	return f.generator.typeOf(n)
}

// fail records an error for the first term that has no device code.
func (f *function) fail(what string, n *term.Term) {
	if f.err == nil {
		f.err = fmt.Errorf("there is no device code for %s: %s", what, oneLine(n.String()))
	}
}

// short returns an expression, or the name of a constant with its value if the expression is long.
func (f *function) short(expr string) string {
	if len(expr) < 90 {
		return expr
	}
	return f.name(f.widest(expr), "t", expr)
}

// typeOf returns the C type of a real term: double if an operand is loaded from a double tensor, and
// otherwise the compute type.
func (g *generator) typeOf(n *term.Term) string {
	wide := false
	var visit func(n *term.Term)
	visit = func(n *term.Term) {
		switch n.Op {
		case term.Element:
			wide = wide || g.tensors[n.Read.Tensor].Type == dtype.F64
		case term.Add, term.Subtract, term.Multiply, term.Divide, term.Negate:
			for _, x := range n.Args {
				visit(x)
			}
		case term.Choose:
			visit(n.Args[1])
			visit(n.Args[2])
		}
	}
	visit(n)
	if wide {
		return "double"
	}
	return g.real()
}

// widest returns the C type of an expression: double if it contains a name of that type.
func (f *function) widest(expr string) string {
	for _, w := range words.FindAllString(expr, -1) {
		if f.doubles[w] {
			return "double"
		}
	}
	return f.real()
}

var words = regexp.MustCompile(`[a-zA-Z_][a-zA-Z_0-9]*`)

// rounded converts an expression to the compute type, in which functions are evaluated.
func (f *function) rounded(expr string) string {
	if f.widest(expr) == f.real() {
		return expr
	}
	return "(" + f.real() + ")" + expr
}

// apply writes the call of a function, and returns the name of the result.
func (f *function) apply(n *term.Term) string {
	switch {
	case n.Func.Has(term.Random):
		args := []string{"(unsigned long long)" + f.integer(n.Args[0]), "(unsigned long long)" + f.integer(n.Args[1]), "(unsigned long long)" + f.integer(n.Args[2])}
		return f.name(f.real(), n.Func.Name, fmt.Sprintf("(%s)opgen_%s(%s)", f.real(), n.Func.Name, strings.Join(args, ", ")))
	case n.Func.Has(term.Conversion):
		return f.converted(n)
	}
	var args []string
	for _, a := range n.Args {
		args = append(args, f.rounded(f.number(a)))
	}
	typ := f.real()
	if n.Kind == term.Boolean {
		typ = "bool"
	}
	return f.name(typ, n.Func.Name, fmt.Sprintf("opgen_%s(%s)", n.Func.Name, strings.Join(args, ", ")))
}

// converted writes the conversion of a value to a storage type and back to the C type of n's kind.
func (f *function) converted(n *term.Term) string {
	to := ctypes[n.Func.To]
	if to == "" {
		f.fail("a conversion to "+n.Func.To.String(), n)
		return "0"
	}
	x := f.number(n.Args[0])
	switch n.Kind {
	case term.Integer:
		return f.name("long long", "whole", fmt.Sprintf("opgen_convert<%s>(%s)", to, x))
	case term.Boolean:
		return f.name("bool", "holds", x+" != 0")
	}
	return f.name(f.real(), "rounded", fmt.Sprintf("(%s)opgen_convert<%s>(%s)", f.real(), to, x))
}

// narrow reports whether an integer and all its subterms fit 32 bits.
func narrow(n *term.Term) bool {
	lo, hi, known := rewrite.Bounds(n)
	if !known || lo < math.MinInt32 || hi > math.MaxInt32 || n.Op == term.Reduce || n.Op == term.Element || n.Op == term.Step {
		return false
	}
	for _, a := range n.Args {
		if a.Kind == term.Integer && !narrow(a) {
			return false
		}
	}
	return true
}

// integer writes code that computes n as an integer, and returns a C expression for it.
func (f *function) integer(n *term.Term) string {
	if n.Kind != term.Integer {
		if n.Kind == term.Boolean {
			return "(long long)(" + f.condition(n) + ")"
		}
		return "opgen_whole(" + f.number(n) + ")"
	}
	if v, ok := n.Known(); ok {
		return whole(v)
	}
	switch n.Op {
	case term.Index:
		name := f.names[n.Var]
		if name == "" {
			f.fail("an index that no loop has", n)
			return "0"
		}
		return name
	case term.Step:
		f.steps = true
		return "(long long)step"
	case term.Element:
		return f.element(n, "long long", func(x *term.Term) string { return f.integer(x) })
	case term.Choose:
		return f.choice(n, "long long", f.integer)
	case term.Reduce:
		return f.reduce(n)
	case term.Negate:
		return "(-" + f.integer(n.Args[0]) + ")"
	case term.Apply:
		return f.applyInteger(n)
	}
	return f.operation(n.Op, n, f.integer(n.Args[0]), f.integer(n.Args[1]))
}

// whole returns the C literal of an integer.
func whole(v int) string {
	switch {
	case int64(v) == math.MinInt64:
		return "(-9223372036854775807ll - 1)"
	case v < 0:
		return "(" + strconv.Itoa(v) + suffix(v) + ")"
	}
	return strconv.Itoa(v) + suffix(v)
}

func suffix(v int) string {
	if v >= math.MinInt32 && v <= math.MaxInt32 {
		return ""
	}
	return "ll"
}

// operation writes the integer operation op of operands x and y, and returns a C expression for it. A divisor
// that is not a known valid one is checked.
func (f *function) operation(op term.Op, n *term.Term, x, y string) string {
	if !narrow(n) {
		x = "(long long)" + x
	}
	switch op {
	case term.Add:
		return "(" + x + " + " + y + ")"
	case term.Subtract:
		return "(" + x + " - " + y + ")"
	case term.Multiply:
		return "(" + x + " * " + y + ")"
	case term.Power:
		return f.name("long long", "power", fmt.Sprintf("opgen_power(%s, %s)", x, y))
	case term.Quotient, term.Modulo, term.Truncate:
	default:
		f.fail("an integer", n)
		return "0"
	}
	d, known := n.Args[1].Known()
	lo, _, bounded := rewrite.Bounds(n.Args[0])
	if known && term.Divisor(op, d) {
		sign := map[term.Op]string{term.Quotient: "/", term.Truncate: "/", term.Modulo: "%"}[op]
		if op == term.Truncate || bounded && lo >= 0 && narrow(n.Args[0]) { // wider operands may wrap around
			return "(" + x + " " + sign + " " + y + ")"
		}
		return fmt.Sprintf("opgen_%s(%s, %s)", divisions[op], x, y)
	}
	by := f.name("long long", "divisor", y)
	bad := by + " <= 0"
	if op == term.Truncate {
		bad = by + " == 0"
	}
	f.faulty = true
	code := f.fault(Fault{Divisor: true})
	out := f.unique("quotient")
	f.line("long long %s = 0;", out)
	f.open("if (%s) {", bad)
	f.line("opgen_fault(fault, %d, %s, 0, 0);", code, by)
	f.otherwise()
	f.line("%s = opgen_%s((long long)%s, %s);", out, divisions[op], x, by)
	f.close()
	return out
}

// divisions maps operations to device functions of integer division, without their prefix opgen_.
var divisions = map[term.Op]string{term.Quotient: "floordiv", term.Modulo: "mod", term.Truncate: "div"}

func (f *function) applyInteger(n *term.Term) string {
	if n.Func.Has(term.Conversion) {
		return f.converted(n)
	}
	if n.Args[0].Kind != term.Integer {
		return "opgen_whole(" + f.apply(n) + ")"
	}
	x := f.name("long long", "i", f.integer(n.Args[0]))
	if n.Func == term.Abs {
		return f.name("long long", "i", fmt.Sprintf("%s < 0 ? -%s : %s", x, x, x))
	}
	y := f.name("long long", "i", f.integer(n.Args[1]))
	sign := ">"
	if n.Func == term.Min {
		sign = "<"
	}
	return f.name("long long", "i", fmt.Sprintf("%s %s %s ? %s : %s", x, sign, y, x, y))
}

// condition writes code that computes n as a bool, and returns a C expression for it.
func (f *function) condition(n *term.Term) string {
	if n.Kind != term.Boolean {
		return "(" + f.number(n) + " != 0)"
	}
	switch n.Op {
	case term.Constant:
		return strconv.FormatBool(n.Int != 0)
	case term.Element:
		return f.element(n, "bool", func(x *term.Term) string { return f.condition(x) })
	case term.Choose:
		return f.choice(n, "bool", f.condition)
	case term.Apply:
		if n.Func.Has(term.Conversion) {
			return f.converted(n)
		}
		return f.apply(n)
	case term.Reduce:
		return f.reduce(n)
	case term.Not:
		return "!" + f.condition(n.Args[0])
	case term.And, term.Or:
		return f.logic(n)
	}
	sign := map[term.Op]string{term.Equal: "==", term.Unequal: "!=", term.Less: "<", term.AtMost: "<="}[n.Op]
	a, b := n.Args[0].Kind, n.Args[1].Kind
	switch {
	case a == term.Integer && b == term.Integer:
		return "(" + f.integer(n.Args[0]) + " " + sign + " " + f.integer(n.Args[1]) + ")"
	case a == term.Boolean && b == term.Boolean && (n.Op == term.Equal || n.Op == term.Unequal):
		return "(" + f.condition(n.Args[0]) + " " + sign + " " + f.condition(n.Args[1]) + ")"
	}
	return "(" + f.rounded(f.number(n.Args[0])) + " " + sign + " " + f.rounded(f.number(n.Args[1])) + ")"
}

// logic writes a conjunction or disjunction. The second operand is evaluated only if the first does not
// decide.
func (f *function) logic(n *term.Term) string {
	x := f.condition(n.Args[0])
	lines, y := f.apart(func() string { return f.condition(n.Args[1]) })
	sign := " && "
	if n.Op == term.Or {
		sign = " || "
	}
	if len(lines) == 0 {
		return "(" + x + sign + y + ")"
	}
	out := f.unique("holds")
	f.line("bool %s = %s;", out, x)
	test := out
	if n.Op == term.Or {
		test = "!" + out
	}
	f.open("if (%s) {", test)
	f.body = append(f.body, lines...)
	f.line("%s = %s;", out, y)
	f.close()
	return out
}

// choice writes a conditional expression of type typ. Only the selected operand is evaluated.
func (f *function) choice(n *term.Term, typ string, write func(*term.Term) string) string {
	holds := f.condition(n.Args[0])
	xs, x := f.apart(func() string { return write(n.Args[1]) })
	ys, y := f.apart(func() string { return write(n.Args[2]) })
	if len(xs) == 0 && len(ys) == 0 {
		return f.name(typ, "chosen", fmt.Sprintf("%s ? %s : %s", holds, x, y))
	}
	out := f.unique("chosen")
	f.typed(out, typ)
	f.line("%s %s;", typ, out)
	f.open("if (%s) {", holds)
	f.body = append(f.body, xs...)
	f.line("%s = %s;", out, x)
	f.otherwise()
	f.body = append(f.body, ys...)
	f.line("%s = %s;", out, y)
	f.close()
	return out
}

// place returns C expressions for the offset of an access, in elements, and for the condition that the access
// is in bounds. The condition is "" if it always holds.
func (f *function) place(r *term.Read) (at, inside string) {
	open := rewrite.AccessOf(r).Open
	idx := make([]string, len(r.Idx))
	var tests []string
	for i, x := range r.Idx {
		idx[i] = f.integer(x)
	}
	for _, d := range open {
		idx[d] = f.name("long long", "at", idx[d])
		e, _ := r.Ext[d].Known()
		tests = append(tests, fmt.Sprintf("%s >= 0 && %s < %s", idx[d], idx[d], whole(e)))
	}
	total := 1
	for _, x := range r.Ext {
		e, _ := x.Known()
		total *= e
	}
	at = "0"
	for i, x := range idx {
		e, _ := r.Ext[i].Known()
		switch {
		case i == 0:
			at = x
		case total <= math.MaxInt32:
			at = fmt.Sprintf("(%s * %d + %s)", at, e, x)
		default:
			at = fmt.Sprintf("((long long)%s * %d + %s)", at, e, x)
		}
	}
	return at, strings.Join(tests, " && ")
}

// element writes the load of n, converted to typ. Out of bounds, the value is that of the read's default,
// which write writes. Without a default it is a fault.
func (f *function) element(n *term.Term, typ string, write func(*term.Term) string) string {
	r := n.Read
	if x, ok := f.turned[r]; ok {
		return f.name(typ, f.p.Tensors[r.Tensor].Name+"_element", "("+typ+")"+x)
	}
	if array, at, ok := f.held(r, false, false); ok {
		return f.name(typ, f.p.Tensors[r.Tensor].Name+"_element", fmt.Sprintf("(%s)opgen_load(%s, %s)", typ, array, at))
	}
	at, inside := f.place(r)
	load := func(t int) string { return fmt.Sprintf("opgen_load(%s, %s)", f.memory(t, false), at) }
	cast := "(" + typ + ")"
	name := f.p.Tensors[r.Tensor].Name + "_element"
	if r.Which == nil && inside == "" {
		return f.name(typ, name, cast+load(r.Tensor))
	}
	strict := r.Else == nil && !f.lenient
	which := ""
	if r.Which != nil {
		which = f.name("long long", "which", f.integer(r.Which))
		test := fmt.Sprintf("%s >= 0 && %s < %d", which, which, r.Count)
		if inside != "" {
			test += " && " + inside
		}
		inside = test
	}
	var lines []string
	other := "0"
	if r.Else != nil {
		lines, other = f.apart(func() string { return write(r.Else) })
	}
	if len(lines) == 0 && !strict && which == "" {
		return f.name(typ, name, fmt.Sprintf("%s ? %s%s : (%s)%s", inside, cast, load(r.Tensor), typ, other))
	}
	out := f.unique(name)
	f.typed(out, typ)
	f.line("%s %s = 0;", typ, out)
	f.open("if (%s) {", inside)
	if which == "" {
		f.line("%s = %s%s;", out, cast, load(r.Tensor))
	} else {
		f.open("switch (%s) {", which)
		for i := range r.Count {
			f.line("case %d: %s = %s%s; break;", i, out, cast, load(r.Tensor+i))
		}
		f.close()
	}
	f.otherwise()
	if strict {
		f.outside(r)
	} else {
		f.body = append(f.body, lines...)
		f.line("%s = %s;", out, other)
	}
	f.close()
	return out
}

// outside writes the record of a fault: an access out of bounds.
func (f *function) outside(r *term.Read) {
	ext := make([]int, len(r.Ext))
	values := []string{"0", "0", "0"}
	for i, x := range r.Ext {
		ext[i], _ = x.Known()
		if i < len(values) {
			values[i] = f.integer(r.Idx[i])
		}
	}
	f.faulty = true
	code := f.fault(Fault{Name: f.p.Tensors[r.Tensor].Name, Extents: ext, Rank: len(ext)})
	f.line("opgen_fault(fault, %d, %s);", code, strings.Join(values, ", "))
}
