package term

import (
	"testing"

	"github.com/opgen/opgen/formula/reduction"
)

// TestChain checks which reductions are sums of products that leave out the present index, and which of them
// one pass can compute.
func TestChain(t *testing.T) {
	const count = 6
	of := func(tensor int, v *Variable) *Term {
		return &Term{Op: Element, Kind: Real, Read: &Read{Tensor: tensor, Count: 1, Idx: []*Term{v.Term()}, Ext: []*Term{Number(count)}}}
	}
	reduce := func(kind reduction.Kind, v *Variable, guard, body *Term) *Term {
		return &Term{Op: Reduce, Kind: Real, Reduction: &Reduction{Kind: kind, Vars: []*Variable{v}, Guard: guard, Body: body, Part: -1}}
	}
	p := &Variable{Name: "p", Lo: Number(0), Hi: Number(count)}
	plus := func(v *Variable, n int) *Term { return Sum(v.Term(), Number(n)) }
	for _, c := range []struct {
		name          string
		lo, hi        *Term                        // of the sum
		from, to      func(v *Variable) *Term      // of the product
		around        func(product, h *Term) *Term // what is summed
		chain, passes bool
	}{
		{"inclusive", p.Term(), Number(count), nil, func(v *Variable) *Term { return plus(v, 1) }, nil, true, true},
		{"exclusive", plus(p, 1), Number(count), nil, func(v *Variable) *Term { return v.Term() }, nil, true, true},
		{"reversed", Number(0), plus(p, 1), func(v *Variable) *Term { return v.Term() }, nil, nil, true, true},
		{"divided", p.Term(), Number(count), nil, func(v *Variable) *Term { return plus(v, 1) },
			func(x, h *Term) *Term { return Opposite(Ratio(Product(h, x), h)) }, true, true},
		{"the factor is not in all products", p.Term(), Number(count), nil, func(v *Variable) *Term { return v.Term() }, nil, true, false},
		{"further values have the factor", plus(p, 2), Number(count), nil, func(v *Variable) *Term { return plus(v, 1) }, nil, true, false},
		{"the product is no factor", p.Term(), Number(count), nil, func(v *Variable) *Term { return plus(v, 1) }, Sum, false, false},
		{"the sum has a constant range", Number(0), Number(count), nil, func(v *Variable) *Term { return plus(v, 1) }, nil, false, false},
	} {
		v := &Variable{Name: "v", Lo: c.lo, Hi: c.hi}
		w := &Variable{Name: "w", Lo: Number(0), Hi: Number(count)}
		if c.from != nil {
			w.Lo = c.from(v)
		}
		if c.to != nil {
			w.Hi = c.to(v)
		}
		if c.around == nil {
			c.around = Product
		}
		product := reduce(reduction.Prod, w, Negated(Compare(Equal, w.Term(), p.Term())), of(1, w))
		got := reduce(reduction.Sum, v, nil, c.around(product, of(0, v))).Reduction.Chain()
		if (got != nil) != c.chain {
			t.Errorf("%s: got the chain %v", c.name, got)
		} else if got != nil && got.Passes(count) != c.passes {
			t.Errorf("%s: want that one pass gives the values: %v", c.name, c.passes)
		}
	}
}
