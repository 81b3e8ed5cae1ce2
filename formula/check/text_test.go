package check

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// parsed parses what a printer wrote.
func parsed(t *testing.T, text string) expr.Node {
	t.Helper()
	f, errs := expr.ParseFormula("y = " + text)
	if len(errs) > 0 {
		t.Fatalf("%s: %v", text, errs[0])
	}
	return f.Statements[0].X
}

// valueOf computes an expression of the names a to d. Quotients round down if whole is set.
func valueOf(t *testing.T, n expr.Node, at []float64, whole bool) float64 {
	t.Helper()
	of := func(n expr.Node) float64 { return valueOf(t, n, at, whole) }
	switch n := n.(type) {
	case *expr.Lit:
		if i, ok := n.Value.(int64); ok {
			return float64(i)
		}
		return n.Value.(float64)
	case *expr.Ident:
		if v, ok := expr.Constants[n.Name]; ok {
			return v
		}
		return at[n.Name[0]-'a']
	case *expr.Unary:
		if n.Op == "!" {
			return 1 - of(n.X)
		}
		return -of(n.X)
	case *expr.Cond:
		if of(n.If) != 0 {
			return of(n.Then)
		}
		return of(n.Else)
	case *expr.Call:
		x, y := of(n.Args[0]), of(n.Args[len(n.Args)-1])
		switch n.Func {
		case "max":
			return max(x, y)
		case "min":
			return min(x, y)
		case "quotient":
			return math.Trunc(x / y)
		}
		return term.Functions[n.Func].Real(x)
	case *expr.Binary:
		return applied(t, n.Op, of(n.X), of(n.Y), whole)
	}
	t.Fatalf("an expression of type %T", n)
	return 0
}

func applied(t *testing.T, op string, x, y float64, whole bool) float64 {
	t.Helper()
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		if whole {
			return math.Floor(x / y)
		}
		return x / y
	case "%":
		return x - y*math.Floor(x/y)
	case "^":
		return math.Pow(x, y)
	case "<":
		return term.Truth(x < y)
	case "<=":
		return term.Truth(x <= y)
	case "==":
		return term.Truth(x == y)
	case "!=":
		return term.Truth(x != y)
	case "&&":
		return x * y
	case "||":
		return max(x, y)
	}
	t.Fatalf("the operator %s", op)
	return 0
}

// TestIntegersAsText parses what messages say of random integers, whose values must be those of the integers.
func TestIntegersAsText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := &formula{info: map[string]*info{}}
	at := []float64{7, 5, 3, 11}
	var random func(depth int) (poly, float64)
	random = func(depth int) (poly, float64) {
		if depth == 0 || r.IntN(6) == 0 {
			if r.IntN(3) == 0 {
				n := r.IntN(9) - 4
				return constant(int64(n)), float64(n)
			}
			i := r.IntN(len(at))
			return atom(string(rune('a' + i))), at[i]
		}
		p, x := random(depth - 1)
		q, y := random(depth - 1)
		switch r.IntN(6) {
		case 0:
			return p.Plus(q, 1), x + y
		case 1:
			return p.Plus(q, -1), x - y
		case 2:
			return p.Mul(q), x * y
		case 3:
			if y != 0 {
				return f.div(p, q), math.Floor(x / y)
			}
		case 4:
			if y != 0 {
				return f.mod(p, q), x - y*math.Floor(x/y)
			}
		case 5:
			return f.extreme("max", []poly{p, q}), max(x, y)
		}
		return p, x
	}
	quotients := 0
	for range 5000 {
		p, want := random(4)
		if p == nil || math.Abs(want) > 1<<40 {
			continue // too long, or not exact
		}
		text := p.String()
		if got := valueOf(t, parsed(t, text), at, true); got != want {
			t.Fatalf("%s: got %v, want %v", text, got, want)
		}
		if strings.ContainsAny(text, "/%") {
			quotients++
		}
	}
	if quotients < 1000 {
		t.Errorf("%d quotients, want 1000 and more", quotients)
	}
}

// TestTermsAsText does the same for what explanations say of random terms.
func TestTermsAsText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	at := []float64{0.7, 1.3, -2.1, 3}
	operators := map[term.Op]string{term.Add: "+", term.Subtract: "-", term.Multiply: "*", term.Divide: "/", term.Power: "^", term.Less: "<", term.AtMost: "<=",
		term.Equal: "==", term.Unequal: "!=", term.And: "&&", term.Or: "||"}
	arithmetic := []term.Op{term.Add, term.Subtract, term.Multiply, term.Divide, term.Power}
	comparisons := []term.Op{term.Less, term.AtMost, term.Equal, term.Unequal}
	var condition, number func(depth int) (*term.Term, float64)
	binary := func(op term.Op, kind term.Kind, of func(int) (*term.Term, float64), depth int) (*term.Term, float64) {
		p, x := of(depth - 1)
		q, y := of(depth - 1)
		return &term.Term{Op: op, Kind: kind, Args: []*term.Term{p, q}}, applied(t, operators[op], x, y, false)
	}
	condition = func(depth int) (*term.Term, float64) {
		switch k := r.IntN(4); {
		case depth <= 1 || k == 0:
			return binary(comparisons[r.IntN(len(comparisons))], term.Boolean, number, depth)
		case k == 1:
			p, x := condition(depth - 1)
			return &term.Term{Op: term.Not, Kind: term.Boolean, Args: []*term.Term{p}}, 1 - x
		case k == 2:
			return binary(term.And, term.Boolean, condition, depth)
		}
		return binary(term.Or, term.Boolean, condition, depth)
	}
	number = func(depth int) (*term.Term, float64) {
		switch k := r.IntN(9); {
		case depth <= 0 || k == 0:
			if r.IntN(2) == 0 {
				v := []float64{-3, -0.5, 2, 0.25, 1e30, math.Inf(1), math.Inf(-1)}[r.IntN(7)]
				return term.RealNumber(v), v
			}
			i := r.IntN(len(at))
			return &term.Term{Op: term.Symbol, Kind: term.Real, Name: string(rune('a' + i))}, at[i]
		case k == 1:
			p, x := number(depth - 1)
			return &term.Term{Op: term.Negate, Kind: term.Real, Args: []*term.Term{p}}, -x
		case k == 2:
			c, holds := condition(depth - 1)
			p, x := number(depth - 1)
			q, y := number(depth - 1)
			if holds == 0 {
				x = y
			}
			return &term.Term{Op: term.Choose, Kind: term.Real, Args: []*term.Term{c, p, q}}, x
		case k == 3:
			p, x := number(depth - 1)
			return term.Applied("tanh", p), math.Tanh(x)
		}
		return binary(arithmetic[r.IntN(len(arithmetic))], term.Real, number, depth)
	}
	for range 5000 {
		n, want := number(5)
		if got := valueOf(t, parsed(t, n.String()), at, false); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%s: got %v, want %v", n, got, want)
		}
	}
}

// TestExpressionsAsText parses what messages say of random expressions, which must give the same trees.
func TestExpressionsAsText(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var random func(depth int) expr.Node
	random = func(depth int) expr.Node {
		x := func() expr.Node { return random(depth - 1) }
		if depth == 0 {
			return expr.NewIdent([]string{"a", "b", "c", "d"}[r.IntN(4)], 0, 0)
		}
		switch r.IntN(9) {
		case 0:
			return &expr.Lit{Value: []any{int64(3), 0.5, true, "name"}[r.IntN(4)]}
		case 1:
			return &expr.Unary{Op: []string{"-", "!"}[r.IntN(2)], X: x()}
		case 2:
			return &expr.Cond{If: x(), Then: x(), Else: x()}
		case 3:
			return &expr.Call{Func: "tanh", Args: []expr.Node{x()}}
		case 4:
			return &expr.Read{Name: "t", Groups: [][]expr.Node{{x(), x()}}, Else: &expr.Unary{Op: "-", X: x()}}
		case 5:
			return &expr.In{X: x(), List: []expr.Node{&expr.Lit{Value: int64(1)}}}
		}
		return &expr.Binary{Op: []string{"+", "-", "*", "/", "%", "^", "<", "==", "&&", "||"}[r.IntN(10)], X: x(), Y: x()}
	}
	for range 3000 {
		n := random(4)
		text := show(n)
		if got := parsed(t, text); !same(reflect.ValueOf(got), reflect.ValueOf(n)) {
			t.Fatalf("%s is another tree once it is parsed: %s", text, show(got))
		}
	}
}

// same reports whether two trees are equal but for what parsers note besides: positions and types.
func same(x, y reflect.Value) bool {
	for x.Kind() == reflect.Interface || x.Kind() == reflect.Pointer {
		if x.IsNil() || y.IsNil() || x.Kind() != y.Kind() {
			return x.IsNil() && y.Kind() == x.Kind() && y.IsNil()
		}
		x, y = x.Elem(), y.Elem()
	}
	if x.Type() != y.Type() {
		return false
	}
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			if name := x.Type().Field(i).Name; name != "base" && name != "At" && name != "NameEnd" && !same(x.Field(i), y.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !same(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	}
	return x.Equal(y)
}
