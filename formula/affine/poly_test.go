package affine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// letter is an atom for tests. A point assigns values to letters.
type letter string

func (l letter) Key() string    { return string(l) }
func (l letter) String() string { return "<" + string(l) + ">" }

type point map[string]int64

// points returns all assignments of small values to the three letters.
func points() []point {
	var out []point
	for _, a := range []int64{-3, 0, 1, 4} {
		for _, b := range []int64{-2, 0, 5} {
			for _, c := range []int64{-1, 2, 7} {
				out = append(out, point{"a": a, "b": b, "c": c})
			}
		}
	}
	return out
}

// at evaluates a polynomial at a point.
func (v point) at(p *Poly[letter]) int64 {
	sum := int64(0)
	for _, m := range p.Products() {
		product := m.Coefficient
		for _, f := range m.Factors {
			product *= v[string(f)]
		}
		sum += product
	}
	return sum
}

// expression is a random polynomial, and a function that computes its value.
type expression struct {
	p    *Poly[letter]
	mean func(point) int64
}

// random makes an expression of random sums, differences, products and multiples.
func random(r *rand.Rand, depth int) expression {
	if depth == 0 || r.IntN(5) == 0 {
		if r.IntN(3) == 0 {
			n := int64(r.IntN(7) - 3)
			return expression{Constant[letter](n, nil), func(point) int64 { return n }}
		}
		name := string("abc"[r.IntN(3)])
		return expression{Of(letter(name), nil), func(v point) int64 { return v[name] }}
	}
	x, y := random(r, depth-1), random(r, depth-1)
	switch r.IntN(4) {
	case 0:
		return expression{x.p.Add(y.p), func(v point) int64 { return x.mean(v) + y.mean(v) }}
	case 1:
		return expression{x.p.Sub(y.p), func(v point) int64 { return x.mean(v) - y.mean(v) }}
	case 2:
		n := int64(r.IntN(9) - 4)
		return expression{x.p.Plus(y.p, n), func(v point) int64 { return x.mean(v) + n*y.mean(v) }}
	}
	return expression{x.p.Mul(y.p), func(v point) int64 { return x.mean(v) * y.mean(v) }}
}

// TestPolynomialsMeanWhatTheyAreMadeOf compares the values of polynomials, and of the parts that Linear and
// Over return, with the values of the expressions from which they were made.
func TestPolynomialsMeanWhatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	linear, divided, equal := 0, 0, 0
	for range 3000 {
		x, y := random(r, 4), random(r, 3)
		factor, rest, isLinear := x.p.Linear("b")
		ratio := x.p.Mul(y.p).Over(y.p)
		if isLinear {
			linear++
			if slices.Contains(factor.Keys(), "b") || slices.Contains(rest.Keys(), "b") {
				t.Errorf("%v: Linear leaves b in %v or in %v", x.p, factor, rest)
			}
		}
		if ratio != nil {
			divided++
			if !ratio.Equal(x.p) {
				t.Errorf("(%v) * (%v) over the latter is %v", x.p, y.p, ratio)
			}
		} else if y.p.Len() == 1 {
			t.Errorf("(%v) * %v is a multiple of the latter", x.p, y.p)
		}
		if q := x.p.Over(y.p); q != nil && !q.Mul(y.p).Equal(x.p) {
			t.Errorf("%v over %v is %v", x.p, y.p, q)
		}
		for _, v := range points() {
			if got, want := v.at(x.p), x.mean(v); got != want {
				t.Fatalf("%v is %d at %v, want %d", x.p, got, v, want)
			}
			if isLinear && v.at(factor)*v["b"]+v.at(rest) != x.mean(v) {
				t.Errorf("%v is not (%v) * b + %v at %v", x.p, factor, rest, v)
			}
			if x.p.Equal(y.p) && x.mean(v) != y.mean(v) {
				t.Errorf("%v equals %v, but not at %v", x.p, y.p, v)
			}
			if n, ok := x.p.Number(); ok && n != x.mean(v) {
				t.Errorf("%v is said to be %d", x.p, n)
			}
			if k := x.p.Single(); k != "" && v[k] != x.mean(v) {
				t.Errorf("%v is said to be %s", x.p, k)
			}
			if x.p.NoneNegative() && v["a"] >= 0 && v["b"] >= 0 && v["c"] >= 0 && x.mean(v) < 0 {
				t.Errorf("%v has no negative product, and is %d at %v", x.p, x.mean(v), v)
			}
		}
		if !x.p.Sub(y.p).Equal(Constant[letter](0, nil)) == x.p.Equal(y.p) {
			t.Errorf("%v and %v: their difference is %v", x.p, y.p, x.p.Sub(y.p))
		}
		if x.p.Equal(y.p) {
			equal++
		}
	}
	if linear < 1000 || divided < 500 || equal < 20 {
		t.Errorf("of 3000 polynomials, %d are linear, %d are divided and %d equal another", linear, divided, equal)
	}
}

// TestManyProducts adds and removes more products than a polynomial searches linearly.
func TestManyProducts(t *testing.T) {
	t.Parallel()
	atom := func(i int) *Poly[letter] { return Of(letter(rune('A'+i)), nil) }
	p := Constant[letter](1, nil)
	for i := range 50 {
		p = p.Add(atom(i))
	}
	for i := range 50 {
		if p.Len() != 51-i {
			t.Fatalf("%d products, want %d", p.Len(), 51-i)
		}
		k := atom((i * 7) % 50)
		p = p.Sub(k).Add(k).Sub(k)
	}
	if n, ok := p.Number(); !ok || n != 1 {
		t.Errorf("got %v, want 1", p)
	}
}

// TestProductsThatComeBack multiplies sums in which a product cancels and is added again.
func TestProductsThatComeBack(t *testing.T) {
	t.Parallel()
	p, q, power := Constant[letter](0, nil), Constant[letter](0, nil), Constant[letter](1, nil)
	for i := range int64(14) {
		p, q, power = p.Add(power), q.Plus(power, 1-2*(i%2)), power.Mul(Of(letter("a"), nil))
	}
	for _, v := range points() {
		if got, want := v.at(p.Mul(q)), v.at(p)*v.at(q); got != want {
			t.Errorf("(%v) * (%v) is %d where a is %d, want %d", p, q, got, v["a"], want)
		}
	}
}

// TestOver checks that Over divides by the products that divide a polynomial, and by no others.
func TestOver(t *testing.T) {
	t.Parallel()
	a, b, n := Of(letter("a"), nil), Of(letter("b"), nil), func(n int64) *Poly[letter] { return Constant[letter](n, nil) }
	for _, c := range []struct{ p, q, want *Poly[letter] }{
		{a.Mul(n(6)).Sub(n(4)), n(2), a.Mul(n(3)).Sub(n(2))},
		{a.Mul(n(6)).Sub(n(3)), n(2), nil},
		{a.Mul(b).Mul(b).Add(b), b, a.Mul(b).Add(n(1))},
		{a.Mul(b).Add(b), b.Mul(b), nil},
		{a.Mul(b), a.Add(b), nil},
		{a, n(0), nil},
		{n(0), a, n(0)},
	} {
		if got := c.p.Over(c.q); got != c.want && !got.Equal(c.want) {
			t.Errorf("(%v) over %v: got %v, want %v", c.p, c.q, got, c.want)
		}
	}
}

// TestUnknown checks that polynomials beyond the limits are nil, as are operations on them.
func TestUnknown(t *testing.T) {
	t.Parallel()
	some := &Limits{Products: 2, Key: 5}
	a, b, c := Of(letter("a"), some), Of(letter("b"), some), Of(letter("c"), some)
	big := Constant[letter](math.MaxInt64, some)
	for name, p := range map[string]*Poly[letter]{
		"three products":     a.Add(b).Add(c),
		"a long product":     a.Mul(b).Mul(c).Mul(a),
		"a long name":        Of(letter("abcdef"), some),
		"a sum that wraps":   big.Add(Constant[letter](1, some)),
		"a multiple":         Constant[letter](0, some).Plus(big.Mul(a), 2),
		"a product":          big.Mul(a.Mul(Constant[letter](2, some))),
		"a product by -1":    Constant[letter](math.MinInt64, some).Mul(Constant[letter](-1, some)),
		"a wrapped zero":     Constant[letter](1<<62, some).Mul(Constant[letter](4, some)).Mul(a),
		"a sum with unknown": a.Add(nil),
		"unknown times":      (*Poly[letter])(nil).Mul(a),
	} {
		if p != nil {
			t.Errorf("%s: got %v, want it unknown", name, p)
		}
	}
	var u *Poly[letter]
	if _, ok := u.Number(); ok || u.Equal(u) || u.NoneNegative() || u.Single() != "" || u.String() != "?" || len(u.Keys()) > 0 {
		t.Error("something is known of an unknown polynomial")
	}
	if _, _, ok := u.Linear("a"); ok {
		t.Error("an unknown polynomial is linear")
	}
	if p := a.Mul(b).Add(c); p == nil || p.String() != "<a> * <b> + <c>" {
		t.Errorf("got %v within the limits", p)
	}
}

// TestText checks how polynomials are printed.
func TestText(t *testing.T) {
	t.Parallel()
	a, b, n := Of(letter("a"), nil), Of(letter("b"), nil), func(n int64) *Poly[letter] { return Constant[letter](n, nil) }
	for want, p := range map[string]*Poly[letter]{
		"0":                         a.Sub(a),
		"-3":                        n(-3),
		"-<a>":                      n(0).Sub(a),
		"<a> * <b> - 2 * <a> + <b>": b.Mul(a).Sub(a.Mul(n(2))).Add(b),
		"-<a> * <a> + 1":            n(1).Sub(a.Mul(a)),
		"2 * <a> * <a> * <b> - <a>": a.Mul(b).Mul(a).Mul(n(2)).Sub(a),
		"3 * <a> + 3 * <b> + 7":     a.Add(b).Mul(n(3)).Add(n(7)),
	} {
		if p.String() != want {
			t.Errorf("got %s, want %s", p, want)
		}
	}
}
