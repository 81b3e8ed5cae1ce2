package derive

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Flops returns how many floating-point operations statements take, as a sum of products of extents. An
// operation and a function count as one, and so does a comparison of elements. Each counts once for all
// indices that it does not depend on. Of two branches the longer one counts. A reduction under a condition of
// elements is a search, which counts as one step, since kernels sort or look up instead, unless searches
// count in full.
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

// loops holds indices with how many values each has.
type loops struct {
	vars    []*term.Variable
	lengths []*term.Term
	shares  []*term.Term                  // of each index, which part of the values counts: one of so many; nil for all
	middle  map[*term.Variable]*term.Term // a middle value of each, for ranges that depend on it
	full    bool                          // whether searches count in full
}

// within returns the loops with further indices inside, of which those count for which a condition holds.
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

// repeats returns how many values some of the indices have together.
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

// length returns how many values an index has. A range that is cut at the edges of a tensor counts in full.
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

// operations returns how many operations a value takes for all values of the indices.
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

// counts reports whether a value takes an operation besides those of its operands.
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
	if s := r.Scan(); s != nil { // one operation for each present index, and the expression once
		out := term.Product(term.Number(r.Kind.Operations()), l.repeats(n.Free()))
		if r.Body == nil {
			return out
		}
		return term.Sum(out, l.operations(r.Body.Substitute(map[*term.Variable]*term.Term{s.Over: s.Present.Term()})))
	}
	inner := l
	vars := n.Free()
	if r.IsOrder() { // is worked out once for all places in it
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

// order returns how many operations an order takes: one for each element that is a real number, since how
// often kernels compare elements depends on how they sort.
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

// estimate returns the value of a number of operations in this use.
func estimate(n *term.Term) int {
	v, _ := n.Known()
	return v
}

// Evaluate returns the value of an integer whose symbols have the given values, with fractions. A symbol
// without a value has that of its use.
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
