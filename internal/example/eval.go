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

// evaluator works out typed expressions of specs. Their values are int, float64, bool, string, []int,
// [][]int, and map[string]any for records; nil stands for what is absent. Enums and element types are
// strings. It keeps its first error; later calls do nothing.
type evaluator struct {
	name    func(*expr.Ident) any            // the value of an attribute, a dimension, a dtype variable or i
	count   func(slot string) int            // how many tensors a slot has
	axis    func(attr string, value int) int // checks a value of an axis attribute
	indices map[string]int                   // of the folds around
	steps   int                              // that were computed
	err     error
}

// maxSteps is how many operations working out an expression of an example may take.
const maxSteps = 1 << 20

// fail keeps an error, unless there is one already.
func (e *evaluator) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// eval returns the value of an expression, nil if the expression is nil or there is an error. Where integers
// and floats meet, the value is a float.
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

// integer returns the value of an expression of integers.
func (e *evaluator) integer(n expr.Node) int { return as[int](e, n, "an integer") }

// list returns the value of an expression of dims.
func (e *evaluator) list(n expr.Node) []int { return as[[]int](e, n, "dims") }

// truth returns the value of a condition.
func (e *evaluator) truth(n expr.Node) bool { return as[bool](e, n, "a condition") }

// as returns the value of an expression, which must be a T.
func as[T any](e *evaluator, n expr.Node, want string) T {
	v := e.eval(n)
	x, ok := v.(T)
	if !ok {
		e.fail("want %s, got %v", want, readable(v))
	}
	return x
}

// float returns the value of an expression of numbers. Sums, differences and products of integers are those
// of floats, as in generated code.
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

// literal returns the value of a literal. Element types have their own names.
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

// number returns the value of a number as a float.
func number(v any) (float64, bool) {
	if i, ok := v.(int); ok {
		return float64(i), true
	}
	f, ok := v.(float64)
	return f, ok
}

// equal reports whether two values are the same.
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

// integers computes with integers. Quotients are rounded down.
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

// fit returns a result of integers. ok is false if an int does not hold it.
func (e *evaluator) fit(n int, ok bool) int {
	if !ok {
		e.fail("want integers that %d bits hold, got more", bits.UintSize)
	}
	return n
}

// divide returns a quotient or a remainder, or the quotient rounded up if op is ceildiv. The divisor must be
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

// floats computes with floats.
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

// index returns element i of a list.
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

// slice returns a part of a list.
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

// field returns a field of a record. The fields of a record that is absent are zero.
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
