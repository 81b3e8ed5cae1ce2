package term

import "github.com/opgen/opgen/formula/reduction"

// beside says which indices a scan reduces for each result, relative to the result's own index p.
type Beside uint8

// Before: a prefix, which ends at p or at a bound that grows with p. After: a suffix. Others: all but p.
const (
	Before Beside = iota
	After
	Others
)

// Scan is a reduction over the indices before, after or other than the index of the result, such as a prefix
// sum. One pass computes the results for all indices, since each follows from its neighbor.
type Scan struct {
	Where   Beside
	Over    *Variable // the reduction variable
	Present *Variable
	Lo, Hi  *Term // the range of Over, narrowed by bounds in the guard
	Guard   *Term // the other conjuncts of the guard, or nil
}

// Scan returns reduction r as a scan, or nil if it has another form.
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

// Chain is a sum of values times products that leave out the present index, such as the gradient of cumprod:
//
//	sum(v in p .. N: h[v] * prod(w in 0 .. v + 1 if w != p: x[w]))
//
// One pass computes the sums for all present indices p, if exactly the products of values that p+1 shares
// contain the factor x[p]: the sum at p is x[p] times the sum at p+1, plus the values that p adds.
type Chain struct {
	*Scan           // of the sum
	Value *Term     // the factors other than the product
	Times *Variable // the variable of the product
	From  *Term     // the range of Times: From depends on Over if Where is Before, To if Where is After
	To    *Term
	Only  *Term // the guard of factors, or nil
	X     *Term // the body of the product
}

// Chain returns reduction r as a chain, or nil if it has another form.
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

// products calls visit for each product reduction over one index that is a factor of n. value is the product
// of the other factors. around wraps a value in the factors that enclose n.
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

// product sets the product of the chain from r. It reports whether r has the form that a chain needs; Passes
// checks the ranges.
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

// Passes reports whether one pass computes the chain for all present indices in [0, count). It checks the
// ranges by enumeration.
func (c *Chain) Passes(count int) bool {
	all := true
	at := func(n *Term, v *Variable, i int) int {
		k, known := n.Substitute(map[*Variable]*Term{v: Number(i)}).Known()
		all = all && known
		return k
	}
	first, end := at(c.Lo, c.Present, 0), at(c.Hi, c.Present, count-1) // the union of all ranges of Over
	if count == 0 || first >= end {
		return all
	}
	all = all && at(c.From, c.Over, first) >= 0 && (c.Where == Before || at(c.To, c.Over, end-1) <= count)
	for p := range count {
		if !all {
			break
		}
		if c.Where == Before { // products at v < hi contain the factor p, others do not
			hi := max(at(c.Hi, c.Present, p), first)
			all = all && (hi == first || at(c.From, c.Over, hi-1) <= p) && (hi == end || at(c.From, c.Over, hi) > p)
			continue
		}
		lo := min(at(c.Lo, c.Present, p), end)
		all = all && (lo == end || at(c.To, c.Over, lo) > p) && (lo == first || at(c.To, c.Over, lo-1) <= p)
	}
	return all
}

// Relation classifies condition g on index v: lo <= v sets lo, v < hi sets hi, and v != other sets other. All
// three are nil for other conditions.
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

// grows reports whether n is non-decreasing in v.
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
