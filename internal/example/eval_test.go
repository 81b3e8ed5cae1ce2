package example

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/expr"
)

// named is a name of the expressions in these tests.
type named struct {
	value  any
	symbol expr.Symbol
}

func symbol(c expr.Class, k expr.Kind) expr.Symbol {
	return expr.Symbol{Class: c, Type: expr.Type{Kind: k}}
}

func optional(k expr.Kind) expr.Symbol { return expr.Symbol{Type: expr.Type{Kind: k, Optional: true}} }

// names are the names that expressions of these tests use. The slot x has 3 dimensions.
var names = map[string]named{
	"N":    {4, symbol(expr.Dim, expr.Int)},
	"X":    {[]int{2, 3, 5}, symbol(expr.Dim, expr.Dims)},
	"huge": {math.MaxInt/2 + 1, symbol(expr.Attr, expr.Int)},
	"far":  {[]int{math.MaxInt / 2, math.MaxInt / 2, 2}, symbol(expr.Dim, expr.Dims)},
	"E":    {[]int{}, symbol(expr.Dim, expr.Dims)},
	"R":    {[][]int{{2}, {3, 4}}, symbol(expr.Dim, expr.Shapes)},
	"T":    {"f32", symbol(expr.TypeVar, expr.DType)},
	"i":    {1, symbol(expr.Position, expr.Int)},
	"rate": {0.5, symbol(expr.Attr, expr.Float)},
	"flag": {true, symbol(expr.Attr, expr.Bool)},
	"text": {"a", symbol(expr.Attr, expr.String)},
	"size": {3, expr.Symbol{Type: expr.Type{Kind: expr.Int}, HasMin: true, Min: 1}},
	"zero": {0, expr.Symbol{Type: expr.Type{Kind: expr.Int}, HasMin: true, Min: 1}}, // though an example cannot give it
	"axes": {[]int{2, 0}, symbol(expr.Attr, expr.Dims)},
	"bad":  {[]int{1, 1}, symbol(expr.Attr, expr.Dims)},
	"axis": {-1, expr.Symbol{Type: expr.Type{Kind: expr.Int, Optional: true}, Axis: true}},
	"gone": {nil, expr.Symbol{Type: expr.Type{Kind: expr.Int, Optional: true}, Axis: true}},
	"none": {nil, optional(expr.Int)},
	"some": {7, optional(expr.Int)},
	"half": {0.5, optional(expr.Float)},
	"mode": {"B", expr.Symbol{Type: expr.Type{Kind: expr.Enum, Name: "mode", Values: []string{"A", "B"}}}},
	"kind": {nil, expr.Symbol{Type: expr.Type{Kind: expr.DType, Optional: true}}},
	"rec":  {map[string]any{"n": 6, "opt": nil}, recordSymbol(false)},
	"rest": {nil, recordSymbol(true)},
	"x":    {nil, symbol(expr.SlotName, expr.Slot)},
	"y":    {nil, symbol(expr.SlotName, expr.Slot)},
}

func recordSymbol(optional bool) expr.Symbol {
	fields := []expr.Field{{Name: "n", Symbol: expr.Symbol{Type: expr.Type{Kind: expr.Int}}}, {Name: "f", Symbol: expr.Symbol{Type: expr.Type{Kind: expr.Float}}},
		{Name: "b", Symbol: expr.Symbol{Type: expr.Type{Kind: expr.Bool}}}, {Name: "d", Symbol: expr.Symbol{Type: expr.Type{Kind: expr.Dims}}},
		{Name: "s", Symbol: expr.Symbol{Type: expr.Type{Kind: expr.String}}}, {Name: "opt", Symbol: expr.Symbol{Type: expr.Type{Kind: expr.Int, Optional: true}}}}
	return expr.Symbol{Type: expr.Type{Kind: expr.Record, Name: "rec", Optional: optional, Fields: fields}}
}

// env gives expressions the names.
type env struct{}

func (env) Lookup(name string) (expr.Symbol, bool) { n, ok := names[name]; return n.symbol, ok }
func (env) Names() []string                        { return nil }

// newEvaluator returns an evaluator of the names, in which the slot x has two tensors.
func newEvaluator() *evaluator {
	e := &evaluator{
		name:  func(n *expr.Ident) any { return names[n.Name].value },
		count: func(slot string) int { return map[string]int{"x": 2}[slot] },
	}
	e.axis = func(attr string, axis int) int {
		if axis < -3 || axis >= 3 {
			e.fail("%s has no axis %d", attr, axis)
		}
		return (axis + 3) % 3
	}
	return e
}

// evaluate parses, types and evaluates an expression.
func evaluate(t testing.TB, text string) (any, error) {
	t.Helper()
	n, err := expr.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	kinds := []expr.Kind{expr.Int, expr.Bool, expr.Dims, expr.Float, expr.String, expr.DType, expr.Enum}
	if !slices.ContainsFunc(kinds, func(k expr.Kind) bool { return expr.Check(n, env{}, k) == nil }) {
		t.Fatalf("%s: %v", text, expr.Check(n, env{}, expr.Int))
	}
	e := newEvaluator()
	v := e.eval(n)
	return v, e.err
}

// TestEval works out expressions with every operator and every built-in function.
func TestEval(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{"1 + 2 * 3 - N", 3}, {"-N / 3", -2}, {"-N % 3", 2}, {"-rate", -0.5}, {"rate * 3", 1.5}, {"1 - rate / 2", 0.75},
		{"N > 3 && N >= 4", true}, {"N < 4 || N <= 4", true}, {"rate > 0.25", true}, {"rate >= 1", false}, {"rate < 1", true},
		{"rate <= 0.5", true}, {"!flag", false}, {"N == 4.0", true}, {"X == [2, 3, 5]", true}, {"X != E", true}, {"text == 'a'", true},
		{"flag == true", true}, {"T == 'f32'", true}, {"T in ['f64', 'f32']", true}, {"mode == 'B'", true}, {"mode in ['A']", false},
		{"N in [3, 4]", true}, {"kind == 'f32'", false}, {"kind == T", false}, {"N not in [3]", true}, {"flag ? 1 : 2.5", 1.0},
		{"flag ? X : E", []int{2, 3, 5}}, {"!flag ? 1 : 2", 2}, {"flag || N / zero == 1", true}, {"!flag && N / zero == 1", false},
		{"prod(X)", 30}, {"prod(E)", 1}, {"huge * 2.0", 1 << (bits.UintSize - 1) * 1.0}, {"huge * 0 * huge", 0}, {"prod([N, huge, 0])", 0}, {"sqrt(huge * 4)", 2 * math.Sqrt(math.MaxInt/2+1)}, {"sum(X)", 10}, {"len(X)", 3}, {"len(R)", 2}, {"ceildiv(7, 2)", 4}, {"ceildiv(-7, 2)", -3},
		{"min(N, 3, 5)", 3}, {"max(N, 5)", 5}, {"min(N, 0.5)", 0.5}, {"max(1, rate)", 1.0}, {"broadcast(X, [3, 1])", []int{2, 3, 5}},
		{"keep(X, axes)", []int{2, 5}}, {"drop(X, axes)", []int{3}}, {"ones(X, axes)", []int{1, 3, 1}}, {"insert(X, axes)", []int{1, 2, 1, 3, 5}},
		{"permute(X, [2, 0, 1])", []int{5, 2, 3}}, {"ceil(rate)", 1}, {"ceil(N)", 4}, {"sqrt(N)", 2.0}, {"sqrt(0.25)", 0.5},
		{"has(none)", false}, {"has(some)", true}, {"has(kind)", false}, {"has(rest)", false}, {"or(none, N)", 4}, {"or(some, N)", 7},
		{"or(half, 1)", 0.5}, {"or(axis, 0)", 2}, {"or(gone, -3)", 0}, {"or(some, N / zero)", 7}, {"count(x)", 2}, {"count(y)", 0},
		{"present(x)", true}, {"present(y)", false}, {"X[1]", 3}, {"R[i]", []int{3, 4}}, {"R[0]", []int{2}}, {"X[1:]", []int{3, 5}}, {"X[:1]", []int{2}},
		{"X[1:2]", []int{3}}, {"X[3:]", []int{}}, {"[N, 1]", []int{4, 1}}, {"rec.n", 6}, {"rest.n", 0}, {"rest.f", 0.0}, {"rest.b", false},
		{"rest.d", []int{}}, {"rest.s", ""}, {"has(rec.opt)", false}, {"or(rec.opt, 2)", 2}, {"mode == 'A' ? 0 : i", 1},
	} {
		got, err := evaluate(t, c.text)
		if err != nil || fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", c.want, c.want) {
			t.Errorf("%s = %T %v, %v; want %T %v", c.text, got, got, err, c.want, c.want)
		}
	}
}

// tooLarge is the error of an integer that an int does not hold.
var tooLarge = fmt.Sprintf("want integers that %d bits hold, got more", bits.UintSize)

// TestEvalErrors checks expressions without a value.
func TestEvalErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"N / zero", "want a divisor above 0, got 0"},
		{"N % zero", "want a divisor above 0, got 0"},
		{"ceildiv(N, zero)", "want a divisor above 0, got 0"},
		{"X[3]", "want a dimension of [2, 3, 5], got 3"},
		{"E[-1]", "want a dimension of [], got -1"},
		{"huge * 2", tooLarge},
		{"huge * huge", tooLarge},
		{"huge + huge + huge", tooLarge},
		{"-huge - huge - huge", tooLarge},
		{"prod(far)", tooLarge},
		{"sum(far)", tooLarge},
		{"sum(j < 3: huge)", tooLarge},
		{"prod(j < 2: huge)", tooLarge},
		{"ceil(huge * 4.0)", tooLarge},
		{"max(huge * 4, 1)", tooLarge},
		{"R[2]", "want a tensor's number below 2, got 2"},
		{"X[2:1]", "want a slice of [2, 3, 5], got [2:1]"},
		{"X[:4]", "want a slice of [2, 3, 5], got [0:4]"},
		{"broadcast(X, [2])", "want shapes that broadcast: equal extents, or 1, got [2, 3, 5] and [2]"},
		{"keep(X, bad)", "want different axes from 0 to 2 for [2, 3, 5], got [1, 1]"},
		{"insert(X, [4])", "want different axes from 0 to 3 for [2, 3, 5], got [4]"},
		{"drop(X, [-1])", "want different axes from 0 to 2 for [2, 3, 5], got [-1]"},
		{"permute(X, axes)", "want every dimension of [2, 3, 5] once, got [2, 0]"},
		{"or(gone, 3)", "gone has no axis 3"},
		{"X[5] + X[6]", "want a dimension of [2, 3, 5], got 5"},
	} {
		if v, err := evaluate(t, c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s = %v, %v; want %s", c.text, v, err, c.want)
		}
	}
}

// FuzzEval evaluates any expression that has a type. It checks that the value is of that type, or that there
// is an error.
func FuzzEval(f *testing.F) {
	for _, s := range []string{"1 + N * rate", "X[1:][0]", "or(axis, N)", "permute(X, axes)[0]", "insert(E, [0])", "flag ? rec.n : rest.f",
		"mode in ['A', 'B']", "R[i]", "ceil(rate / 0.0)", "min(N, size, 2.5) % 3", "present(x) && count(y) == 0", "-9223372036854775807 - 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := expr.Parse(text)
		if err != nil || expr.Check(n, env{}, expr.Float) != nil && expr.Check(n, env{}, expr.Bool) != nil && expr.Check(n, env{}, expr.Dims) != nil {
			return
		}
		e := newEvaluator()
		v := e.eval(n)
		if e.err != nil {
			return
		}
		want := map[expr.Kind]any{expr.Int: 0, expr.Float: 0.0, expr.Bool: false, expr.Dims: []int{}}[n.Type().Kind]
		if fmt.Sprintf("%T", v) != fmt.Sprintf("%T", want) {
			t.Errorf("%s is %T %v, want a %s", text, v, v, n.Type())
		}
		if x, ok := v.(float64); ok && !math.IsNaN(x) && x != e.float(n) {
			t.Errorf("%s is %v first and %v then", text, x, e.float(n))
		}
	})
}
