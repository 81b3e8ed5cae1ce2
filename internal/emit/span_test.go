package emit

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/model"
)

// spanEnv has the dimensions N and M, the list X of dimensions, and attributes with and without a least
// value.
type spanEnv struct{}

func (spanEnv) Lookup(name string) (expr.Symbol, bool) {
	integer := expr.Type{Kind: expr.Int}
	s, ok := map[string]expr.Symbol{
		"N":    {Class: expr.Dim, Type: integer},
		"M":    {Class: expr.Dim, Type: integer},
		"X":    {Class: expr.Dim, Type: expr.Type{Kind: expr.Dims}},
		"free": {Type: integer},
		"size": {Type: integer, HasMin: true, Min: 1},
		"pad":  {Type: integer, HasMin: true, Min: 0},
	}[name]
	return s, ok
}

func (spanEnv) Names() []string { return nil }

// spanTexts are operands of the expressions of TestSpans.
var spanTexts = []string{"N", "M", "X[0]", "X[1]", "free", "size", "pad", "prod(X)", "sum(X)", "len(X)", "0", "1", "3", "2147483647"}

// drawn returns a random expression of integers.
func drawn(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(5) == 0 {
		return spanTexts[r.IntN(len(spanTexts))]
	}
	a, b := drawn(r, depth-1), drawn(r, depth-1)
	switch r.IntN(9) {
	case 0:
		return "-(" + a + ")"
	case 1:
		return "min(" + a + ", " + b + ")"
	case 2:
		return "max(" + a + ", " + b + ")"
	case 3:
		return "(" + a + ") / " + []string{"2", "size", "max(N, 1)"}[r.IntN(3)]
	case 4:
		return "ceildiv(" + a + ", " + []string{"2", "size"}[r.IntN(2)] + ")"
	case 5:
		return "(" + a + ") % size"
	}
	return "(" + a + ") " + []string{"+", "-", "*"}[r.IntN(3)] + " (" + b + ")"
}

// TestSpans computes random expressions with integers of any size. Where code computes with the operators of
// Go, the result must fit an int of 32 bits, if the results of all operations that are checked do. So nothing
// wraps around that is not reported.
func TestSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := &exprs{e: &emitter{op: &model.Operator{Dims: []model.Dim{{Name: "N", From: "x"}, {Name: "M", From: "x"}, {Name: "X", From: "x", Rest: true}}}}}
	plain, computed := 0, 0
	for range 20_000 {
		text := drawn(r, 4)
		n, err := expr.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := expr.Check(n, spanEnv{}, expr.Int); err != nil {
			continue // constants that are too large
		}
		for range 5 {
			e := &exact{t: t, x: x, text: text, values: map[string]int64{}}
			for _, name := range []string{"N", "M", "X0", "X1", "pad"} {
				e.values[name] = some(r, 0)
			}
			e.values["free"], e.values["size"] = some(r, -greatest-1), some(r, 1)
			e.value(n)
			plain, computed = plain+e.plain, computed+e.checked
		}
	}
	if plain < 1000 || computed < 1000 {
		t.Errorf("%d operations with operators of Go, %d with functions of the resolver", plain, computed)
	}
}

// some returns a number from least on that is often near a bound.
func some(r *rand.Rand, least int64) int64 {
	switch r.IntN(5) {
	case 0:
		return least + r.Int64N(3)
	case 1:
		return greatest - r.Int64N(3)
	case 2:
		return max(least, r.Int64N(1<<16))
	case 3:
		return max(least, greatest/2+r.Int64N(3)-1)
	}
	return max(least, 1+r.Int64N(5))
}

// exact computes expressions with integers of any size. It stops where a checked operation reports an error.
type exact struct {
	t              *testing.T
	x              *exprs
	text           string
	values         map[string]int64
	plain, checked int
	failed         bool
}

func (e *exact) value(n expr.Node) *big.Int {
	v := e.compute(n)
	if e.failed {
		return v
	}
	switch m := n.(type) {
	case *expr.Unary:
	case *expr.Binary:
		if m.Op == "/" || m.Op == "%" {
			return v
		}
	case *expr.Call:
		if m.Func == "prod" || m.Func == "sum" { // always checked
			e.failed = e.failed || v.CmpAbs(big.NewInt(greatest)) > 0
		}
		return v
	default:
		return v
	}
	fits := v.CmpAbs(big.NewInt(greatest)) <= 0
	switch {
	case e.x.checked(n):
		e.checked++
		e.failed = !fits
	case !fits:
		e.t.Fatalf("%s with %v: Go computes %v", e.text, e.values, v)
	default:
		e.plain++
	}
	return v
}

func (e *exact) compute(n expr.Node) *big.Int {
	floor := func(a, b *big.Int) *big.Int {
		q, m := new(big.Int).QuoRem(a, b, new(big.Int))
		if m.Sign() < 0 {
			q.Sub(q, big.NewInt(1))
		}
		return q
	}
	switch n := n.(type) {
	case *expr.Lit:
		return big.NewInt(n.Value.(int64))
	case *expr.Ident:
		return big.NewInt(e.values[n.Name])
	case *expr.Index:
		return big.NewInt(e.values[[]string{"X0", "X1"}[n.I.(*expr.Lit).Value.(int64)]])
	case *expr.Unary:
		return new(big.Int).Neg(e.value(n.X))
	case *expr.Binary:
		a, b := e.value(n.X), e.value(n.Y)
		switch {
		case e.failed:
			return a
		case n.Op == "/":
			return floor(a, b)
		case n.Op == "%":
			return new(big.Int).Sub(a, new(big.Int).Mul(b, floor(a, b)))
		}
		op := map[string]func(z, x, y *big.Int) *big.Int{"+": (*big.Int).Add, "-": (*big.Int).Sub, "*": (*big.Int).Mul}[n.Op]
		return op(new(big.Int), a, b)
	case *expr.Call:
		a := big.NewInt(2) // len(X)
		x, y := big.NewInt(e.values["X0"]), big.NewInt(e.values["X1"])
		switch n.Func {
		case "prod":
			return new(big.Int).Mul(x, y)
		case "sum":
			return new(big.Int).Add(x, y)
		case "ceildiv":
			a, b := e.value(n.Args[0]), e.value(n.Args[1])
			if e.failed {
				return a
			}
			return new(big.Int).Neg(floor(new(big.Int).Neg(a), b))
		case "min", "max":
			var all []*big.Int
			for _, arg := range n.Args {
				all = append(all, e.value(arg))
			}
			slices.SortFunc(all, (*big.Int).Cmp)
			if n.Func == "min" {
				return all[0]
			}
			return all[len(all)-1]
		}
		return a
	}
	e.t.Fatalf("unknown expression %T in %s", n, strings.TrimSpace(e.text))
	return nil
}
