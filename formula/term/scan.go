package term

import "github.com/opgen/opgen/formula/reduction"

// Beside says where the indices of a scan lie in relation to the present one.
type Beside uint8

// The places of indices. Those before are the ones up to or below the present index, or up to one that grows with it.
const (
	Before Beside = iota
	After
	Others
)

// Scan is a reduction over the indices before, after or beside a present one, such as a prefix sum. Its values for all
// present indices take one pass, since each follows from a neighboring one.
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
		switch lo, hi, other := relation(g, v); {
		case other != nil && s.Present == nil:
			s.Where, s.Present = Others, other
		case lo != nil:
			s.Lo = Greatest(s.Lo, lo)
		case hi != nil:
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

// relation returns what a condition says of an index: a bound that does not depend on tensors, or another index from which
// it differs.
func relation(g *Term, v *Variable) (lo, hi *Term, other *Variable) {
	if g.Op == Not && g.Args[0].Op == Equal {
		g = &Term{Op: Unequal, Kind: Boolean, Args: g.Args[0].Args}
	}
	if g.Op != Unequal && g.Op != Less && g.Op != AtMost {
		return nil, nil, nil
	}
	x, y := g.Args[0], g.Args[1]
	is := func(n *Term) bool { return n.Op == Index && n.Var == v }
	plain := func(n *Term) bool { return n.Kind == Integer && !n.Uses(v) && !n.Reads() }
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
