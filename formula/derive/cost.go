package derive

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Flops counts the floating-point operations of statements, as a sum of products of extents. An arithmetic
// operation, a function and a comparison of elements count as one each. An invariant expression counts once,
// outside of the loops that it does not depend on. A conditional counts as its more costly branch. A
// reduction with a data-dependent guard is a search: it counts as one iteration, since kernels sort or look
// up instead, unless full is set.
func Flops(statements []*program.Statement, full bool) *term.Term {
	out := term.Number(0)
	for _, s := range statements {
		l := (&loops{full: full}).within(s.Vars, s.Guard)
		out = term.Sum(out, l.operations(s.Value))
		if s.Add {
			out = term.Sum(out, l.repeats(s.Vars))
		}
	}
	return out
}

// loops is a loop nest with trip counts.
type loops struct {
	vars    []*term.Variable
	lengths []*term.Term
	shares  []*term.Term                  // by loop: n if a guard x % n == 0 keeps one of n iterations
	middle  map[*term.Variable]*term.Term // the middle value of each index, for bounds of inner loops
	full    bool                          // whether a reduction whose guard reads tensors counts all iterations
}

// within returns the nest with loops over vars added inside. A guard x % n == 0 divides their trip count by
// n.
func (l *loops) within(vars []*term.Variable, guard *term.Term) *loops {
	out := &loops{slices.Clone(l.vars), slices.Clone(l.lengths), slices.Clone(l.shares), map[*term.Variable]*term.Term{}, l.full}
	for v, x := range l.middle {
		out.middle[v] = x
	}
	for i, v := range vars {
		out.vars, out.lengths = append(out.vars, v), append(out.lengths, length(v, out.middle))
		var share *term.Term
		for _, c := range term.Conjuncts(guard) {
			if i == 0 && c.Op == term.Equal && c.Args[0].Op == term.Modulo && c.Args[1].Is(0) {
				share = c.Args[0].Args[1]
			}
		}
		out.shares = append(out.shares, share)
		lo, hi := v.Lo.Substitute(out.middle), v.Hi.Substitute(out.middle)
		if hi.Is(1) {
			out.middle[v] = lo
		} else {
			out.middle[v] = term.Arithmetic(term.Quotient, term.Sum(lo, hi), term.Number(2))
		}
	}
	return out
}

// repeats returns the number of iterations of the loops over vars.
func (l *loops) repeats(vars []*term.Variable) *term.Term {
	out := term.Number(1)
	for i, v := range l.vars {
		if slices.Contains(vars, v) {
			out = term.Product(out, l.lengths[i])
			if l.shares[i] != nil {
				out = term.Arithmetic(term.Quotient, out, l.shares[i])
			}
		}
	}
	return out
}

// length returns the trip count of the loop over v, without the clipping of its range at the edges of a
// tensor. If the range depends on outer indices, values holds their middle values.
func length(v *term.Variable, values map[*term.Variable]*term.Term) *term.Term {
	var best *term.Term
	for _, hi := range term.Operands(v.Hi, term.Min) {
		for _, lo := range term.Operands(v.Lo, term.Max) {
			n := term.Norm(term.Difference(hi, lo))
			if len(n.Free()) > 0 || n.Reads() {
				continue
			}
			if size := estimate(n); size > 0 && (best == nil || size < estimate(best)) {
				best = n
			}
		}
	}
	middle := term.Difference(v.Hi, v.Lo).Substitute(values)
	if best == nil || estimate(middle) < estimate(best) {
		return middle
	}
	return best
}

// operations counts the operations of n over the whole nest.
func (l *loops) operations(n *term.Term) *term.Term {
	switch n.Op {
	case term.Constant, term.Symbol, term.Index, term.Step:
		return term.Number(0)
	case term.Element:
		if n.Read.Else != nil {
			return l.operations(n.Read.Else)
		}
		return term.Number(0)
	case term.Choose:
		x, y := l.operations(n.Args[1]), l.operations(n.Args[2])
		if estimate(x) < estimate(y) {
			x = y
		}
		return term.Sum(l.operations(n.Args[0]), x)
	case term.Reduce:
		return l.reduction(n)
	}
	out := term.Number(0)
	if counts(n) {
		out = l.repeats(n.Free())
	}
	for _, a := range n.Args {
		out = term.Sum(out, l.operations(a))
	}
	return out
}

// counts reports whether the root of n is an operation that Flops counts.
func counts(n *term.Term) bool {
	switch n.Op {
	case term.Negate, term.And, term.Or, term.Not:
		return false
	case term.Apply:
		return !n.Func.Has(term.Conversion)
	}
	return n.Kind == term.Real || n.Reads()
}

func (l *loops) reduction(n *term.Term) *term.Term {
	r := n.Reduction
	if r.IsOrder() {
		return l.order(r)
	}
	if s := r.Scan(); s != nil { // a scan is one pass: one join for each present index, and the body once
		out := term.Product(term.Number(r.Kind.Operations()), l.repeats(n.Free()))
		if r.Body == nil {
			return out
		}
		return term.Sum(out, l.operations(r.Body.Substitute(map[*term.Variable]*term.Term{s.Over: s.Present.Term()})))
	}
	inner := l
	vars := n.Free()
	if r.IsOrder() { // is computed once for all positions in it
		vars = slices.DeleteFunc(r.Body.Free(), func(v *term.Variable) bool { return slices.Contains(r.Vars, v) })
	}
	if l.full || !r.Guard.Reads() {
		inner = l.within(r.Vars, r.Guard)
		vars = append(vars, r.Vars...)
	}
	out := term.Product(term.Number(r.Kind.Operations()), inner.repeats(vars))
	if r.Body != nil {
		out = term.Sum(out, inner.operations(r.Body))
	}
	return out
}

// order counts the operations of an argsort or a rank: one for each real element that is sorted. How often a
// kernel compares elements depends on how it sorts.
func (l *loops) order(r *term.Reduction) *term.Term {
	inner := l.within(r.Vars, nil)
	out := inner.operations(r.Body)
	if r.Body.Kind != term.Real {
		return out
	}
	vars := slices.Clone(r.Vars)
	for _, v := range r.Body.Free() {
		if !slices.Contains(vars, v) {
			vars = append(vars, v)
		}
	}
	return term.Sum(out, inner.repeats(vars))
}

// estimate returns the value of a symbolic count of operations in this use.
func estimate(n *term.Term) int {
	v, _ := n.Known()
	return v
}

// Evaluate evaluates an integer expression in float64, so that quotients have fractions. symbols binds
// extents by name; a symbol that is not in it has its value in this use.
func Evaluate(n *term.Term, symbols map[string]int) float64 {
	if n.Op == term.Symbol {
		if v, ok := symbols[n.Name]; ok {
			return float64(v)
		}
		return float64(n.Int)
	}
	v := make([]float64, len(n.Args))
	for i, a := range n.Args {
		v[i] = Evaluate(a, symbols)
	}
	switch n.Op {
	case term.Constant:
		return n.Value()
	case term.Negate:
		return -v[0]
	case term.Add:
		return v[0] + v[1]
	case term.Subtract:
		return v[0] - v[1]
	case term.Multiply:
		return v[0] * v[1]
	case term.Quotient, term.Divide, term.Truncate:
		return v[0] / max(v[1], 1)
	case term.Modulo:
		return math.Mod(v[0], max(v[1], 1))
	case term.Apply:
		if len(v) == 2 {
			return n.Func.Real(v[0], v[1])
		}
	}
	return 0
}
