package rewrite

import (
	algebra "github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/term"
)

// Bounds returns an interval that contains all values of a form.
func (f Form) Bounds() algebra.Interval {
	var r ranges
	return r.of(f)
}

// ranges computes intervals of integers. It memoizes the intervals of indices whose ranges depend on other
// indices. A cyclic range has no interval.
type ranges struct {
	found map[*term.Variable]algebra.Interval
}

// of returns the interval of a form.
func (r *ranges) of(f Form) algebra.Interval {
	out := algebra.Exactly(f.Base)
	for _, m := range f.Vars {
		out = out.Plus(r.variable(m.Of).Times(m.Factor))
	}
	for _, p := range f.Rest {
		out = out.Plus(r.value(p.Of).Times(p.Factor))
	}
	return out
}

// variable returns the interval of an index.
func (r *ranges) variable(v *term.Variable) algebra.Interval {
	if lo, known := v.Lo.Known(); known {
		if hi, known := v.Hi.Known(); known {
			return algebra.Interval{Lo: lo, Hi: hi - 1, Known: hi > lo}
		}
	}
	if i, found := r.found[v]; found {
		return i
	}
	if len(r.found) == mostRanges {
		return algebra.Interval{}
	}
	if r.found == nil {
		r.found = map[*term.Variable]algebra.Interval{}
	}
	r.found[v] = algebra.Interval{} // a cycle is unknown
	lo, hi := r.of(Linear(v.Lo)), r.of(Linear(v.Hi))
	i := algebra.Interval{Lo: lo.Lo, Hi: hi.Hi - 1, Known: lo.Known && hi.Known && hi.Hi > lo.Lo} // hi.Hi - 1 cannot overflow
	r.found[v] = i
	return i
}

// value returns the interval of an opaque integer.
func (r *ranges) value(n *term.Term) algebra.Interval {
	of := func(x *term.Term) algebra.Interval { return r.of(Linear(x)) }
	switch {
	case n.Op == term.Choose:
		return of(n.Args[1]).Either(of(n.Args[2]))
	case n.Op == term.Apply && n.Func == term.Min:
		return of(n.Args[0]).Least(of(n.Args[1]))
	case n.Op == term.Apply && n.Func == term.Max:
		return of(n.Args[0]).Greatest(of(n.Args[1]))
	case n.Op == term.Quotient || n.Op == term.Modulo:
		d, ok := n.Args[1].Known()
		switch {
		case !ok:
			return algebra.Interval{}
		case n.Op == term.Quotient:
			return of(n.Args[0]).Quotient(algebra.Exactly(d))
		}
		return of(n.Args[0]).Modulo(algebra.Exactly(d))
	}
	return algebra.Interval{}
}
