package term

import "github.com/opgen/opgen/formula/reduction"

// Beside says where the indices of a scan lie in relation to the present one.
type Beside uint8

// The places of indices. Those before are the ones up to or below the present index, or up to one that grows
// with it.
const (
	Before Beside = iota
	After
	Others
)

// Scan is a reduction over the indices before, after or beside a present one, such as a prefix sum. Its
// values for all present indices take one pass, since each follows from a neighboring one.
type Scan struct {
	Where   Beside
	Over    *Variable // of the reduction
	Present *Variable
	Lo, Hi  *Term // of Over, with the bounds that the guard set
	Guard   *Term // what else must hold; nil if nothing
}

// Scan returns the reduction as a scan; nil if it is none.
func (r *Reduction) Scan() *Scan {
	if len(r.Vars) != 1 || !r.Kind.Is(reduction.Running) {
		return nil
	}
	v := r.Vars[0]
	s := &Scan{Over: v, Lo: v.Lo, Hi: v.Hi}
	var rest []*Term
	for _, g := range Conjuncts(r.Guard) {
		switch lo, hi, other := Relation(g, v); {
		case other != nil && s.Present == nil:
			s.Where, s.Present = Others, other
		case lo != nil && !lo.Reads():
			s.Lo = Greatest(s.Lo, lo)
		case hi != nil && !hi.Reads():
			s.Hi = Least(s.Hi, hi)
		default:
			rest = append(rest, g)
		}
	}
	s.Guard = All(rest...)
	if s.Where != Others {
		lows, highs := s.Lo.Free(), s.Hi.Free()
		switch {
		case len(lows) == 0 && len(highs) == 1 && grows(s.Hi, highs[0]):
			s.Where, s.Present = Before, highs[0]
		case len(highs) == 0 && len(lows) == 1 && grows(s.Lo, lows[0]):
			s.Where, s.Present = After, lows[0]
		}
	} else if s.Lo.Uses(s.Present) || s.Hi.Uses(s.Present) {
		return nil
	}
	if s.Present == nil || s.Present == v || r.Body != nil && r.Body.Uses(s.Present) || s.Guard != nil && s.Guard.Uses(s.Present) {
		return nil
	}
	return s
}

// Chain is a sum of values times products from which the present index is left out, such as the gradient of
// running products:
//
//	sum(v in p .. N: h[v] * prod(w in 0 .. v + 1 if w != p: x[w]))
//
// The values for all present indices p take one pass where the products of exactly the values that count have
// the factor with the index p: what is summed for p + 1, times that factor, is what is summed for p, but for
// the values that p adds.
type Chain struct {
	*Scan           // over the values
	Value *Term     // the other factors
	Times *Variable // of the product
	From  *Term     // the range of Times; From depends on Over where the scan is Before, and To does where it is After
	To    *Term
	Only  *Term // what else must hold for a factor; nil if nothing
	X     *Term // a factor
}

// Chain returns the reduction as a chain; nil if it is none.
func (r *Reduction) Chain() *Chain {
	if r.Kind != reduction.Sum || len(r.Vars) != 1 || r.Body == nil {
		return nil
	}
	var out *Chain
	products(r.Body, func(x *Term) *Term { return x }, func(of *Reduction, value *Term) {
		sum := *r
		sum.Body = value
		c := &Chain{Scan: sum.Scan(), Value: value}
		if out == nil && c.Scan != nil && c.product(of) {
			out = c
		}
	})
	return out
}

// products calls visit for the products over an index that are factors of a value, with the value of the
// other factors. Around returns a value with the factors around it.
func products(n *Term, around func(*Term) *Term, visit func(of *Reduction, value *Term)) {
	switch {
	case n.Kind != Real:
	case n.Op == Reduce && n.Reduction.Kind == reduction.Prod && len(n.Reduction.Vars) == 1:
		visit(n.Reduction, around(Number(1)))
	case n.Op == Negate:
		products(n.Args[0], func(x *Term) *Term { return around(Opposite(x)) }, visit)
	case n.Op == Multiply:
		products(n.Args[0], func(x *Term) *Term { return around(Product(x, n.Args[1])) }, visit)
		products(n.Args[1], func(x *Term) *Term { return around(Product(n.Args[0], x)) }, visit)
	case n.Op == Divide:
		products(n.Args[0], func(x *Term) *Term { return around(Ratio(x, n.Args[1])) }, visit)
	}
}

// product notes the range of a product. It reports whether the product is that of a chain, as far as its form
// goes.
func (c *Chain) product(r *Reduction) bool {
	v, w := c.Over, r.Vars[0]
	c.Times, c.From, c.To, c.X = w, w.Lo, w.Hi, r.Body
	var rest []*Term
	without := false
	for _, g := range Conjuncts(r.Guard) {
		switch lo, hi, other := Relation(g, w); {
		case other == c.Present && !without:
			without = true
		case lo != nil && !lo.Reads():
			c.From = Greatest(c.From, lo)
		case hi != nil && !hi.Reads():
			c.To = Least(c.To, hi)
		default:
			rest = append(rest, g)
		}
	}
	c.Only = All(rest...)
	fixed, moving := c.From, c.To
	if c.Where == Before {
		fixed, moving = moving, fixed
	}
	only := moving.Free()
	return without && c.Where != Others && len(fixed.Free()) == 0 && len(only) == 1 && only[0] == v && grows(moving, v) && !fixed.Reads() &&
		!c.X.Uses(v) && !c.X.Uses(c.Present) && !(c.Only != nil && (c.Only.Uses(v) || c.Only.Uses(c.Present)))
}

// Passes reports whether one pass gives the values for all present indices from 0 to count-1.
func (c *Chain) Passes(count int) bool {
	all := true
	at := func(n *Term, v *Variable, i int) int {
		k, known := n.Substitute(map[*Variable]*Term{v: Number(i)}).Known()
		all = all && known
		return k
	}
	first, end := at(c.Lo, c.Present, 0), at(c.Hi, c.Present, count-1) // of all values that count
	if count == 0 || first >= end {
		return all
	}
	all = all && at(c.From, c.Over, first) >= 0 && (c.Where == Before || at(c.To, c.Over, end-1) <= count)
	for p := range count {
		if !all {
			break
		}
		if c.Where == Before { // the products of the values before hi, and of no others, have the factor p
			hi := max(at(c.Hi, c.Present, p), first)
			all = all && (hi == first || at(c.From, c.Over, hi-1) <= p) && (hi == end || at(c.From, c.Over, hi) > p)
			continue
		}
		lo := min(at(c.Lo, c.Present, p), end)
		all = all && (lo == end || at(c.To, c.Over, lo) > p) && (lo == first || at(c.To, c.Over, lo-1) <= p)
	}
	return all
}

// Relation returns what a condition says of an index: a bound, from which on or below which the index lies,
// or another index from which it differs.
func Relation(g *Term, v *Variable) (lo, hi *Term, other *Variable) {
	if g.Op == Not && g.Args[0].Op == Equal {
		g = &Term{Op: Unequal, Kind: Boolean, Args: g.Args[0].Args}
	}
	if g.Op != Unequal && g.Op != Less && g.Op != AtMost {
		return nil, nil, nil
	}
	x, y := g.Args[0], g.Args[1]
	is := func(n *Term) bool { return n.Op == Index && n.Var == v }
	plain := func(n *Term) bool { return n.Kind == Integer && !n.Uses(v) }
	next := func(n *Term) *Term { return Arithmetic(Add, n, Number(1)) }
	switch {
	case g.Op == Unequal && is(x) && y.Op == Index && y.Var != v:
		return nil, nil, y.Var
	case g.Op == Unequal && is(y) && x.Op == Index && x.Var != v:
		return nil, nil, x.Var
	case g.Op == Less && is(x) && plain(y):
		return nil, y, nil
	case g.Op == AtMost && is(x) && plain(y):
		return nil, next(y), nil
	case g.Op == Less && is(y) && plain(x):
		return next(x), nil, nil
	case g.Op == AtMost && is(y) && plain(x):
		return x, nil, nil
	}
	return nil, nil, nil
}

// grows reports whether an integer does not become smaller when a variable becomes greater.
func grows(n *Term, v *Variable) bool {
	if !n.Uses(v) {
		return !n.Reads()
	}
	if n.Op == Apply && n.Func.Has(Extreme) {
		return grows(n.Args[0], v) && grows(n.Args[1], v)
	}
	c, rest, ok := Linear(n, v)
	if !ok || rest.Reads() {
		return false
	}
	k, known := c.Known()
	return known && k > 0
}
