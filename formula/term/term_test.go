package term

import (
	"testing"

	"github.com/opgen/opgen/formula/reduction"
)

func sym(name string, value int) *Term {
	return &Term{Op: Symbol, Kind: Integer, Name: name, Int: value}
}

func plus(x, y *Term) *Term   { return Arithmetic(Add, x, y) }
func minus(x, y *Term) *Term  { return Arithmetic(Subtract, x, y) }
func times(x, y *Term) *Term  { return Arithmetic(Multiply, x, y) }
func over(x, y *Term) *Term   { return Arithmetic(Quotient, x, y) }
func modulo(x, y *Term) *Term { return Arithmetic(Modulo, x, y) }

// TestNorm checks that equal integers have the same normal form.
func TestNorm(t *testing.T) {
	n, m := sym("N", 3), sym("M", 5)
	i, j := (&Variable{Name: "i", Lo: Number(0), Hi: n}).Term(), (&Variable{Name: "j", Lo: Number(0), Hi: m}).Term()
	for _, c := range []struct {
		x    *Term
		want string
	}{
		{plus(times(i, m), minus(j, times(m, i))), "j"},
		{times(plus(i, Number(1)), plus(i, Number(-1))), "i * i - 1"},
		{over(times(times(n, m), Number(6)), times(m, Number(2))), "3 * N"},
		{over(plus(times(n, m), Number(1)), m), "(M * N + 1) / M"},
		{minus(Number(0), times(Number(2), j)), "-(2 * j)"},
		{plus(modulo(i, m), plus(Number(2), Number(3))), "i % M + 5"},
	} {
		if got := Norm(c.x).String(); got != c.want {
			t.Errorf("%v: got %s, want %s", c.x, got, c.want)
		}
	}
	other := (&Variable{Name: "i", Lo: Number(0), Hi: n}).Term()
	if SameInteger(i, other) {
		t.Error("two variables of one name are told to be equal")
	}
}

// TestLinear checks the decomposition of integers as c*v + r.
func TestLinear(t *testing.T) {
	s, p := sym("S", 2), sym("P", 1)
	v := &Variable{Name: "v", Lo: Number(0), Hi: s}
	w := (&Variable{Name: "w", Lo: Number(0), Hi: s}).Term()
	c, r, ok := Linear(plus(times(v.Term(), s), minus(w, p)), v)
	if !ok || c.String() != "S" || r.String() != "w - P" {
		t.Errorf("got %v, %v, %v", c, r, ok)
	}
	for _, x := range []*Term{times(v.Term(), v.Term()), over(v.Term(), Number(2))} {
		if _, _, ok := Linear(x, v); ok {
			t.Errorf("%v is told to be linear", x)
		}
	}
}

// TestNonNegative checks which integers are known to be at least 0.
func TestNonNegative(t *testing.T) {
	n := sym("N", 3)
	i := (&Variable{Name: "i", Lo: Number(0), Hi: n}).Term()
	below := (&Variable{Name: "b", Lo: Number(-1), Hi: n}).Term()
	for _, x := range []*Term{Number(0), n, plus(i, n), times(i, n), over(i, n), Greatest(minus(i, n), Number(0))} {
		if !NonNegative(x) {
			t.Errorf("%v: want 0 or more", x)
		}
	}
	for _, x := range []*Term{Number(-1), minus(n, i), below, Least(minus(i, n), n)} {
		if NonNegative(x) {
			t.Errorf("%v: want less than 0 in some cases", x)
		}
	}
}

// TestString checks that terms are printed with as few parentheses as formulas need.
func TestString(t *testing.T) {
	n := sym("N", 3)
	k := &Variable{Name: "k", Lo: Number(0), Hi: sym("K", 2)}
	x := &Term{Op: Element, Kind: Real, Read: &Read{Count: 1, Idx: []*Term{k.Term()}, Ext: []*Term{n}, Text: "x"}}
	guarded := Compare(Less, k.Term(), n)
	for _, c := range []struct {
		x    *Term
		want string
	}{
		{Product(Sum(x, Number(1)), x), "(x[k] + 1) * x[k]"},
		{Difference(x, Sum(x, x)), "x[k] - (x[k] + x[k])"},
		{Opposite(Product(x, x)), "-(x[k] * x[k])"},
		{Ratio(x, Product(x, x)), "x[k] / (x[k] * x[k])"},
		{Product(Chosen(guarded, x, Number(0)), x), "k < N ? x[k] * x[k] : 0"},
		{&Term{Op: Reduce, Kind: Real, Reduction: &Reduction{Kind: reduction.Sum, Vars: []*Variable{k}, Guard: guarded, Body: x}}, "sum(k if k < N: x[k])"},
		{Negated(Both(guarded, Condition(true))), "!(k < N)"},
		{Applied("max", x, Number(0)), "max(x[k], 0)"},
	} {
		if got := c.x.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestMatch checks that patterns match terms with other indices.
func TestMatch(t *testing.T) {
	n := sym("N", 3)
	element := func(v *Variable) *Term {
		return &Term{Op: Element, Kind: Real, Read: &Read{Count: 1, Idx: []*Term{v.Term()}, Ext: []*Term{n}, Text: "x"}}
	}
	total := func(name string) *Term {
		v := &Variable{Name: name, Lo: Number(0), Hi: n}
		return &Term{Op: Reduce, Kind: Real, Reduction: &Reduction{Kind: reduction.Sum, Vars: []*Variable{v}, Body: element(v)}}
	}
	if !Identical(total("a"), total("b")) {
		t.Error("two sums over an index of another name are told apart")
	}
	v, w := &Variable{Name: "v", Lo: Number(0), Hi: n}, &Variable{Name: "w", Lo: Number(0), Hi: n}
	if Identical(element(v), element(w)) {
		t.Error("elements at two indices are told to be the same")
	}
}

// TestMatchSettled matches reductions. A match is not settled if an open variable occurs in no part of the
// pattern, or is bound to an index of a reduction in the term.
func TestMatchSettled(t *testing.T) {
	n := Number(4)
	variable := func(name string) *Variable { return &Variable{Name: name, Lo: Number(0), Hi: n} }
	at := func(v *Variable) *Term {
		return &Term{Op: Element, Kind: Real, Read: &Read{Count: 1, Idx: []*Term{v.Term()}, Ext: []*Term{n}}}
	}
	sum := func(v *Variable, body *Term) *Term {
		return &Term{Op: Reduce, Kind: Real, Reduction: &Reduction{Kind: reduction.Sum, Vars: []*Variable{v}, Body: body, Part: -1}}
	}
	i, j, k, l := variable("i"), variable("j"), variable("k"), variable("l")
	for _, c := range []struct {
		what         string
		x, y         *Term
		same, settle bool
	}{
		{"the same index", sum(i, Product(at(k), at(i))), sum(j, Product(at(l), at(j))), true, true},
		{"an unused variable", sum(i, at(i)), sum(j, at(j)), true, false},
		{"the index of the reduction", sum(i, Product(at(k), at(i))), sum(j, Product(at(j), at(j))), true, false},
		{"another value", sum(i, at(k)), sum(j, Product(at(l), at(j))), false, false},
	} {
		m := Match{Open: []*Variable{k}, Values: map[*Variable]*Term{}}
		if got := m.Same(c.x, c.y); got != c.same || got && m.Settled() != c.settle {
			t.Errorf("%s: same %v, settled %v, want %v and %v", c.what, got, m.Settled(), c.same, c.settle)
		}
	}
}
