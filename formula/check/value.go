package check

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
)

// kinds is a set of kinds of values. It has several if the type is a dtype variable that allows several.
type kinds uint16

const (
	kInt kinds = 1 << iota
	kFloat
	kBool
	kString
	kEnum
	kDType
	kRun // a run of extents or of indices
	kSlot
	kRecord
	kOther // lists and arguments, which only has and tasks use

	kNumber  = kInt | kFloat
	kElement = kInt | kFloat | kBool
	kAny     = kOther<<1 - 1
)

var kindNames = map[kinds]string{kInt: "integer", kFloat: "float", kBool: "boolean", kString: "string", kEnum: "enum",
	kDType: "element type", kRun: "dims", kSlot: "slot", kRecord: "record", kOther: "list", kNumber: "number"}

var kindsOf = map[expr.Kind]kinds{expr.Unknown: kAny, expr.Int: kInt, expr.Float: kFloat, expr.Bool: kBool, expr.String: kString,
	expr.Enum: kEnum, expr.OtherList: kOther, expr.DType: kDType, expr.Dims: kRun, expr.Shapes: kRun, expr.Record: kRecord, expr.Slot: kSlot}

// value is the abstract value of an expression: its possible kinds and, for integers and runs, a symbolic
// value.
type value struct {
	kinds kinds
	typ   expr.Type // of an attribute or a string
	run   *run      // of extents or indices; nil if unknown
	int   poly      // of an integer; nil if unknown
	index bool      // whether it is a bound index itself, or the constant 0
}

func integer(p poly) value { return value{kinds: kInt, int: p} }

// describe returns the type of a value with an article, for messages.
func (v value) describe() string {
	switch {
	case v.kinds == kRun && v.run != nil && v.run.index:
		return "an index of the dimensions " + plainName(v.run.text)
	case v.kinds == kRun:
		return "dims"
	case v.typ.Name != "":
		return "the " + v.typ.String()
	}
	s := kindNames[v.kinds]
	if s == "" {
		for k := kInt; k <= kOther; k <<= 1 {
			if v.kinds&k != 0 {
				s += " or " + kindNames[k]
			}
		}
		s = strings.TrimPrefix(s, " or ")
	}
	if v.typ.Optional {
		s = "optional " + s
	}
	return english.Article(s)
}

// want returns an error unless a value can have one of the kinds k and is not optional.
func want(n expr.Node, v value, k kinds) *expr.Error {
	if v.kinds&k != 0 && !v.typ.Optional {
		return nil
	}
	e := failf(n, expr.BadType, "want %s, got %s", value{kinds: k}.describe(), v.describe())
	switch {
	case v.typ.Optional && v.kinds&kNumber != 0:
		e.Hint = "it may be absent: test it with has(...), or give a value for that case with or(..., value)"
	case v.typ.Optional:
		e.Hint = "it may be absent: test it with has(...)"
	case v.kinds == kInt && k == kBool:
		e.Hint = "conditions are comparisons and booleans"
	}
	return e
}

// eval infers the value of an expression. index says that the expression is part of a subscript, where /
// rounds down.
func (f *formula) eval(n expr.Node, fr *frame, index bool) (value, *expr.Error) {
	if f.steps--; f.steps < 0 {
		f.c.giveUp()
		return value{kinds: kAny}, nil
	}
	switch n := n.(type) {
	case *expr.Lit:
		return literal(n), nil
	case *expr.Ident:
		return f.ident(n, fr)
	case *expr.Select:
		return f.field(n, fr, index)
	case *expr.Unary:
		return f.unary(n, fr, index)
	case *expr.Binary:
		return f.binary(n, fr, index)
	case *expr.Cond:
		return f.cond(n, fr, index)
	case *expr.In:
		return f.in(n, fr, index)
	case *expr.List:
		return f.list(n, fr)
	case *expr.Call:
		return f.call(n, fr, index)
	case *expr.Inline:
		return f.inline(n, fr)
	case *expr.Read:
		return f.read(n, fr)
	case *expr.Index:
		return f.part(n, n.X, []expr.Node{n.I}, fr)
	case *expr.Slice:
		if n.X != nil {
			return f.part(n, n.X, []expr.Node{n}, fr)
		}
	case *expr.Number:
		return f.rowMajor(n, fr)
	case *expr.Reduce:
		return f.reduce(n, fr)
	}
	return value{}, failf(n, expr.BadSyntax, "want an expression")
}

// integer infers the value of an expression in a subscript, which must be an integer.
func (f *formula) integer(n expr.Node, fr *frame) (value, *expr.Error) {
	v, err := f.eval(n, fr, true)
	if err != nil {
		return v, err
	}
	return v, f.wantIndex(n, v, kInt)
}

// wantIndex is want for a subscript: the value must be an integer for all types of a dtype variable.
// Parameters of functions have no known type while the function is defined, and pass.
func (f *formula) wantIndex(n expr.Node, v value, k kinds) *expr.Error {
	if !f.defining && v.kinds != kAny && v.kinds&kFloat != 0 {
		v.kinds = kFloat
	}
	return want(n, v, k)
}

func literal(n *expr.Lit) value {
	switch v := n.Value.(type) {
	case int64:
		return value{kinds: kInt, int: constant(v), index: v == 0}
	case float64:
		return value{kinds: kFloat}
	case bool:
		return value{kinds: kBool}
	}
	return value{kinds: kString}
}

// field infers the value of a field of a record attribute.
func (f *formula) field(n *expr.Select, fr *frame, index bool) (value, *expr.Error) {
	x, err := f.eval(n.X, fr, index)
	if err != nil || x.kinds == kAny {
		return x, err
	}
	if err := want(n.X, x, kRecord); err != nil {
		return value{}, err
	}
	if s, ok := x.typ.Field(n.Field); ok {
		return f.given(show(n), s, fr), nil
	}
	var names []string
	for _, field := range x.typ.Fields {
		names = append(names, field.Name)
	}
	e := &expr.Error{Pos: n.FieldPos, End: n.FieldPos + len(n.Field), Code: expr.UnknownName, Message: x.describe() + " has no field " + n.Field}
	suggest(e, n.Field, names)
	return value{}, e
}

func (f *formula) unary(n *expr.Unary, fr *frame, index bool) (value, *expr.Error) {
	x, err := f.eval(n.X, fr, index)
	if err != nil {
		return value{}, err
	}
	if n.Op == "!" {
		return value{kinds: kBool}, want(n.X, x, kBool)
	}
	return value{kinds: x.kinds & kNumber, int: constant(0).Sub(x.int)}, want(n.X, x, kNumber)
}

func (f *formula) binary(n *expr.Binary, fr *frame, index bool) (value, *expr.Error) {
	x, err := f.eval(n.X, fr, index)
	if err != nil {
		return value{}, err
	}
	right := fr
	switch n.Op { // of a && b, b counts only where a holds
	case "&&":
		right = f.assuming(n.X, true, fr, index)
	case "||":
		right = f.assuming(n.X, false, fr, index)
	}
	y, err := f.eval(n.Y, right, index)
	if err != nil {
		return value{}, err
	}
	k := kNumber
	switch n.Op {
	case "==", "!=":
		return value{kinds: kBool}, comparison(n.X, x, n.Y, y)
	case "&&", "||":
		k = kBool
	}
	if err := want(n.X, x, k); err != nil {
		return value{}, err
	}
	if err := want(n.Y, y, k); err != nil {
		return value{}, err
	}
	switch n.Op {
	case "&&", "||", "<", "<=", ">", ">=":
		return value{kinds: kBool}, nil
	}
	return f.arithmetic(n, x, y, fr, index)
}

// arithmetic infers the value of an arithmetic operation on x and y.
func (f *formula) arithmetic(n *expr.Binary, x, y value, fr *frame, index bool) (value, *expr.Error) {
	v := value{kinds: both(x.kinds, y.kinds)}
	switch n.Op {
	case "+":
		v.int = x.int.Add(y.int)
	case "-":
		v.int = x.int.Sub(y.int)
	case "*":
		v.int = x.int.Mul(y.int)
	case "%", "/":
		if err := f.divisor(n, y, fr, index); err != nil {
			return v, err
		}
		if n.Op == "%" {
			v.kinds, v.int = kInt, f.mod(x.int, y.int)
			if err := want(n.X, x, kInt); err != nil {
				return v, err
			}
			return v, want(n.Y, y, kInt)
		}
		if err := f.oneMeaning(n, x, y, fr, index); err != nil {
			return v, err
		}
		if !index {
			return value{kinds: kFloat}, nil
		}
		v.int = f.div(x.int, y.int)
	}
	if v.kinds&kInt == 0 {
		v.int = nil
	}
	return v, nil
}

// divisor returns an error if a divisor is 0 or, for integer division and remainders, not provably positive.
func (f *formula) divisor(n *expr.Binary, y value, fr *frame, index bool) *expr.Error {
	if c, ok := y.int.Number(); ok && c == 0 {
		return failf(n.Y, expr.ZeroDivisor, "this divisor is zero")
	}
	if n.Op == "/" && !index || y.int == nil || f.nonnegative(y.int.Sub(constant(1)), fr) {
		return nil
	}
	e := failf(n.Y, expr.ZeroDivisor, "this divisor may be zero or negative")
	e.Hint = "give the attribute min = 1, or divide by max(..., 1)"
	return e
}

// oneMeaning returns an error if one / in a function rounds down in one call, as part of a subscript, and is
// a real quotient in another: the function would have two values for the same arguments.
func (f *formula) oneMeaning(n *expr.Binary, x, y value, fr *frame, index bool) *expr.Error {
	if f.defining || x.kinds&y.kinds&kInt == 0 || !fr.inFunction() {
		return nil
	}
	before, again := f.divided[n]
	f.divided[n] = index
	if !again || before == index {
		return nil
	}
	e := failf(n, expr.BadFormula, "/ has two meanings: the quotient is rounded down where an index stands, and a real number elsewhere")
	e.Hint = fmt.Sprintf("quotient(%s, %s) is rounded towards 0 everywhere, which is down for integers from 0 on; or write a function for each", show(n.X), show(n.Y))
	return e
}

// elseOf returns the kinds of an access with a default, x[i] else y, from those of both: an integer and a
// real number make a real number.
func elseOf(x, y kinds) kinds {
	if x&kNumber == 0 || y&kNumber == 0 {
		return x | y&kNumber
	}
	return x&^kNumber | both(x, y)
}

// both returns the kinds of an arithmetic operation on numbers of kinds x and y: an integer if both are, else
// a float.
func both(x, y kinds) kinds {
	out := (x | y) & kFloat
	if x&kInt != 0 && y&kInt != 0 {
		out |= kInt
	}
	return out
}

// varies reports whether a condition depends on indices or on elements of tensors, and not on attributes
// only.
func (f *formula) varies(n expr.Node, fr *frame) bool {
	found := false
	expr.Walk(n, func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Read:
			found = found || f.tensors[n.Name] != nil
		case *expr.Reduce, *expr.Inline:
			found = true
		case *expr.Ident:
			found = found || len(fr.indices(n.Name)) > 0
		}
	})
	return found
}

func (f *formula) cond(n *expr.Cond, fr *frame, index bool) (value, *expr.Error) {
	c, err := f.eval(n.If, fr, index)
	if err != nil {
		return value{}, err
	}
	if err := want(n.If, c, kBool); err != nil {
		return value{}, err
	}
	x, err := f.eval(n.Then, f.assuming(n.If, true, fr, index), index)
	if err != nil {
		return value{}, err
	}
	y, err := f.eval(n.Else, f.assuming(n.If, false, fr, index), index)
	if err != nil {
		return value{}, err
	}
	v := value{kinds: x.kinds & y.kinds}
	switch {
	case x.kinds&kNumber == 0 || y.kinds&kNumber == 0:
	case f.varies(n.If, fr):
		v.kinds = v.kinds&^kNumber | both(x.kinds, y.kinds)
	default: // attributes decide, and the value is one of the two as it is
		v.kinds |= (x.kinds | y.kinds) & kNumber
	}
	switch {
	case x.typ.Optional || y.typ.Optional:
		if x.typ.Optional {
			return v, want(n.Then, x, y.kinds)
		}
		return v, want(n.Else, y, x.kinds)
	case v.kinds&(kElement|kRun) == 0:
		return v, failf(n, expr.BadType, "want two numbers, booleans or dims around ':', got %s and %s", x.describe(), y.describe())
	case x.int.Equal(y.int):
		v.int = x.int
	case x.int != nil && y.int != nil:
		v.int = f.choice(f.condition(n.If, fr, index), x.int, y.int)
	}
	v.run = oneOf(f.condition(n.If, fr, index), runOf(x), runOf(y))
	return v, nil
}

// condition returns the text of the condition of a choice at fr. One with a quotient has two meanings.
func (f *formula) condition(n expr.Node, fr *frame, index bool) string {
	t := f.unique(n, fr)
	if index && strings.Contains(t, " / ") {
		return "rounded down, " + t
	}
	return t
}

func (f *formula) in(n *expr.In, fr *frame, index bool) (value, *expr.Error) {
	x, err := f.eval(n.X, fr, index)
	if err != nil {
		return value{}, err
	}
	if len(n.List) == 0 {
		return value{}, failf(n, expr.BadType, "nothing is in an empty list")
	}
	for _, e := range n.List {
		y, err := f.eval(e, fr, index)
		if err != nil {
			return value{}, err
		}
		if err := comparison(n.X, x, e, y); err != nil {
			return value{}, err
		}
	}
	return value{kinds: kBool}, nil
}
