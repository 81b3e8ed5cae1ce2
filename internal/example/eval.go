package example

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// evaluator evaluates typed expressions of specs. Values are int, float64, bool, string, []int, [][]int, and
// map[string]any for records. nil is an absent value. Enums and element types are strings. The evaluator
// keeps its first error; later calls do nothing.
type evaluator struct {
	name    func(*expr.Ident) any            // the value of an attribute, a dimension, a dtype variable or i
	places  func(slot string) []int          // the places of a slot's tensors in the caller's list
	count   func(slot string) int            // the number of tensors of a slot
	axis    func(attr string, value int) int // normalizes and checks an axis
	indices map[string]int                   // the values of enclosing indices of reductions
	steps   int                              // the number of operations evaluated so far
	err     error
}

// maxSteps bounds the operations in the evaluation of expressions of one use.
const maxSteps = 1 << 20

// fail sets the error, unless there is one.
func (e *evaluator) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// eval returns the value of n, or nil if n is nil or there is an error. An integer of an expression of type
// Float becomes a float64.
func (e *evaluator) eval(n expr.Node) any {
	if n == nil || e.err != nil {
		return nil
	}
	if e.steps++; e.steps > maxSteps {
		e.fail("want at most %d operations in an expression, got more", maxSteps)
		return nil
	}
	v := e.valueOf(n)
	if i, ok := v.(int); ok && n.Type().Kind == expr.Float {
		return float64(i)
	}
	return v
}

// integer evaluates an expression of type Int.
func (e *evaluator) integer(n expr.Node) int { return as[int](e, n, "an integer") }

// list evaluates an expression of type Dims.
func (e *evaluator) list(n expr.Node) []int { return as[[]int](e, n, "dims") }

// truth evaluates a condition.
func (e *evaluator) truth(n expr.Node) bool { return as[bool](e, n, "a condition") }

// as evaluates n to a value of type T. It fails for other types.
func as[T any](e *evaluator, n expr.Node, want string) T {
	v := e.eval(n)
	x, ok := v.(T)
	if !ok {
		e.fail("want %s, got %v", want, readable(v))
	}
	return x
}

// float evaluates a number as float64. Sums, differences and products of integers are computed in float64,
// as in generated code.
func (e *evaluator) float(n expr.Node) float64 {
	if b, ok := n.(*expr.Binary); ok && b.Type().Kind == expr.Int && strings.Contains("+-*", b.Op) {
		f, _ := number(e.floats(b.Op, e.float(b.X), e.float(b.Y)))
		return f
	}
	v := e.eval(n)
	f, ok := number(v)
	if !ok {
		e.fail("want a number, got %v", readable(v))
	}
	return f
}

func (e *evaluator) valueOf(n expr.Node) any {
	switch n := n.(type) {
	case *expr.Lit:
		return literal(n)
	case *expr.Ident:
		if i, ok := e.indices[n.Name]; ok {
			return i
		}
		return e.name(n)
	case *expr.Unary:
		return e.unary(n)
	case *expr.Binary:
		return e.binary(n)
	case *expr.Cond:
		if e.truth(n.If) {
			return e.eval(n.Then)
		}
		return e.eval(n.Else)
	case *expr.Call:
		return e.call(n)
	case *expr.Reduce:
		return e.fold(n)
	case *expr.GoCall:
		e.fail("the example does not say what %s.%s gives", n.Package, n.Func)
		return []int{}
	case *expr.Index:
		return e.index(e.eval(n.X), e.integer(n.I))
	case *expr.Slice:
		return e.slice(n)
	case *expr.Select:
		return e.field(n)
	case *expr.In:
		x := e.eval(n.X)
		return slices.ContainsFunc(n.List, func(y expr.Node) bool { return equal(x, e.eval(y)) })
	case *expr.List:
		out := []int{}
		for _, x := range n.Elems {
			out = append(out, e.integer(x))
		}
		return out
	}
	e.fail("unknown expression")
	return nil
}

// literal returns the value of a literal. Element types have their canonical names.
func literal(n *expr.Lit) any {
	switch v := n.Value.(type) {
	case int64:
		return int(v)
	case string:
		if t, err := dtype.Parse(v); err == nil && n.Type().Kind == expr.DType {
			return t.String()
		}
	}
	return n.Value
}

func (e *evaluator) unary(n *expr.Unary) any {
	if n.Op == "!" {
		return !e.truth(n.X)
	}
	switch x := e.eval(n.X).(type) {
	case int:
		return e.fit(shape.Sub(0, x))
	case float64:
		return -x
	}
	e.fail("want a number behind -")
	return nil
}

func (e *evaluator) binary(n *expr.Binary) any {
	switch n.Op {
	case "&&":
		return e.truth(n.X) && e.truth(n.Y)
	case "||":
		return e.truth(n.X) || e.truth(n.Y)
	}
	x, y := e.eval(n.X), e.eval(n.Y)
	switch n.Op {
	case "==":
		return equal(x, y)
	case "!=":
		return !equal(x, y)
	}
	a, okA := x.(int)
	b, okB := y.(int)
	if okA && okB {
		return e.integers(n.Op, a, b)
	}
	f, okF := number(x)
	g, okG := number(y)
	if !okF || !okG {
		e.fail("want numbers around %s, got %v and %v", n.Op, readable(x), readable(y))
		return nil
	}
	return e.floats(n.Op, f, g)
}

// number converts an int or a float64 to float64.
func number(v any) (float64, bool) {
	if i, ok := v.(int); ok {
		return float64(i), true
	}
	f, ok := v.(float64)
	return f, ok
}

// equal compares two values; int and float64 compare as numbers.
func equal(x, y any) bool {
	switch x := x.(type) {
	case int, float64:
		a, _ := number(x)
		b, ok := number(y)
		return ok && a == b
	case []int:
		b, ok := y.([]int)
		return ok && shape.Equal(x, b)
	case bool, string, nil:
		return x == y
	}
	return false
}

// integers evaluates an operation on integers. / is floor division.
func (e *evaluator) integers(op string, a, b int) any {
	switch op {
	case "+":
		return e.fit(shape.Add(a, b))
	case "-":
		return e.fit(shape.Sub(a, b))
	case "*":
		return e.fit(shape.Mul(a, b))
	case "/", "%":
		return e.divide(op, a, b)
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	e.fail("unknown operator %s", op)
	return nil
}

// fit returns n, and fails if ok is false: n overflowed.
func (e *evaluator) fit(n int, ok bool) int {
	if !ok {
		e.fail("want integers that %d bits hold, got more", bits.UintSize)
	}
	return n
}

// divide returns the floor of a/b, the remainder for %, or the ceiling for ceildiv. It fails unless b is
// positive.
func (e *evaluator) divide(op string, a, b int) any {
	switch {
	case b <= 0:
		e.fail("want a divisor above 0, got %d", b)
		return nil
	case op == "%":
		return shape.Mod(a, b)
	case op == "ceildiv":
		return shape.CeilDiv(a, b)
	}
	return shape.FloorDiv(a, b)
}

// floats evaluates an operation on floats.
func (e *evaluator) floats(op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	e.fail("unknown operator %s", op)
	return nil
}

// index evaluates x[i] of a list.
func (e *evaluator) index(x any, i int) any {
	switch x := x.(type) {
	case []int:
		if i >= 0 && i < len(x) {
			return x[i]
		}
		e.fail("want a dimension of %s, got %d", shape.Format(x), i)
	case [][]int:
		if i >= 0 && i < len(x) {
			return x[i]
		}
		e.fail("want a tensor's number below %d, got %d", len(x), i)
	}
	e.fail("want dims in front of an index")
	return nil
}

// slice evaluates a slice of a list.
func (e *evaluator) slice(n *expr.Slice) any {
	x := e.list(n.X)
	lo, hi := 0, len(x)
	if n.Lo != nil {
		lo = e.integer(n.Lo)
	}
	if n.Hi != nil {
		hi = e.integer(n.Hi)
	}
	if e.err != nil || lo < 0 || hi < lo || hi > len(x) {
		e.fail("want a slice of %s, got [%d:%d]", shape.Format(x), lo, hi)
		return nil
	}
	return x[lo:hi:hi]
}

// field evaluates a field of a record. The fields of an absent record are zero.
func (e *evaluator) field(n *expr.Select) any {
	record, _ := e.eval(n.X).(map[string]any)
	if v := record[n.Field]; v != nil || n.Type().Optional {
		return v
	}
	return zero(n.Type().Kind)
}

// zero returns the zero value of a kind.
func zero(k expr.Kind) any {
	switch k {
	case expr.Int:
		return 0
	case expr.Float:
		return 0.0
	case expr.Bool:
		return false
	case expr.String:
		return ""
	case expr.Dims:
		return []int{}
	case expr.Shapes:
		return [][]int{}
	}
	return nil
}
