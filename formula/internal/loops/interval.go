package loops

import (
	"math/bits"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
)

// interval is the closed range of an integer. It is unknown if an end overflows int64.
type interval struct {
	lo, hi int
	known  bool
}

// bounds returns the interval of a form.
func (f form) bounds() interval {
	var r ranges
	return r.of(f)
}

func (i interval) plus(j interval) interval {
	lo, under := exactSum(i.lo, j.lo)
	hi, over := exactSum(i.hi, j.hi)
	return interval{lo, hi, i.known && j.known && !under && !over}
}

func (i interval) times(k int) interval {
	lo, under := exactProduct(i.lo, k)
	hi, over := exactProduct(i.hi, k)
	if k < 0 {
		lo, hi = hi, lo
	}
	return interval{lo, hi, i.known && !under && !over}
}

// exactSum returns x + y, and whether it overflows.
func exactSum(x, y int) (z int, overflow bool) {
	z = x + y
	return z, (z > x) != (y > 0) && y != 0
}

// exactProduct returns x * y, and whether it overflows.
func exactProduct(x, y int) (z int, overflow bool) {
	hi, lo := bits.Mul64(absolute(x), absolute(y))
	return x * y, hi != 0 || lo > 1<<63-1
}

func absolute(x int) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// mostRanges is the maximum number of indices in the dependences of a range. A longer chain makes the
// interval unknown.
const mostRanges = 64

// ranges computes intervals. It memoizes those of indices whose ranges depend on other indices. A cyclic
// range has no interval.
type ranges struct {
	found map[*term.Variable]interval
}

// of returns the interval of a form.
func (r *ranges) of(f form) interval {
	out := interval{f.base, f.base, true}
	for _, m := range f.vars {
		out = out.plus(r.variable(m.of).times(m.factor))
	}
	for _, p := range f.rest {
		out = out.plus(r.value(p.of).times(p.factor))
	}
	return out
}

// variable returns the interval of an index.
func (r *ranges) variable(v *term.Variable) interval {
	if lo, known := v.Lo.Known(); known {
		if hi, known := v.Hi.Known(); known {
			return interval{lo, hi - 1, hi > lo}
		}
	}
	if i, found := r.found[v]; found {
		return i
	}
	if len(r.found) == mostRanges {
		return interval{}
	}
	if r.found == nil {
		r.found = map[*term.Variable]interval{}
	}
	r.found[v] = interval{} // a cycle is unknown
	lo, hi := r.of(linear(v.Lo)), r.of(linear(v.Hi))
	i := interval{lo.lo, hi.hi - 1, lo.known && hi.known && hi.hi > lo.lo} // hi.hi - 1 cannot overflow
	r.found[v] = i
	return i
}

// value returns the interval of an opaque integer.
func (r *ranges) value(n *term.Term) interval {
	of := func(x *term.Term) interval { return r.of(linear(x)) }
	switch {
	case n.Op == term.Choose:
		x, y := of(n.Args[1]), of(n.Args[2])
		return interval{min(x.lo, y.lo), max(x.hi, y.hi), x.known && y.known}
	case n.Op == term.Apply && n.Func.Has(term.Extreme):
		x, y := of(n.Args[0]), of(n.Args[1])
		if n.Func == term.Min {
			return interval{min(x.lo, y.lo), min(x.hi, y.hi), x.known && y.known}
		}
		return interval{max(x.lo, y.lo), max(x.hi, y.hi), x.known && y.known}
	case n.Op == term.Quotient || n.Op == term.Modulo:
		d, ok := n.Args[1].Known()
		if !ok || d <= 0 {
			return interval{}
		}
		switch x := of(n.Args[0]); {
		case n.Op == term.Quotient:
			return interval{shape.FloorDiv(x.lo, d), shape.FloorDiv(x.hi, d), x.known}
		case x.known && x.lo >= 0 && x.hi < d:
			return x
		}
		return interval{0, d - 1, true} // of any dividend
	}
	return interval{}
}
