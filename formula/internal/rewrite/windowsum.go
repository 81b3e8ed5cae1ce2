package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// counted rewrites reductions over sliding windows to constant ranges with guards, and eliminates indices
// with one value. A mean over a window becomes a sum divided by a count.
func (z *normalizer) counted(n *term.Term) *term.Term {
	m := averages(n)
	if w, found := windows(m); found || m != n {
		return settled(z.single(w))
	}
	return n
}

// averages replaces the means over windows in a value by sums divided by counts. A mean of nothing is NaN, so
// a mean stays that may have no element.
func averages(n *term.Term) *term.Term {
	if !n.Reduces() {
		return n
	}
	m, changed := n, false
	inner := n.Map(func(x *term.Term) *term.Term {
		y := averages(x)
		changed = changed || y != x
		return y
	})
	if changed {
		m = inner
	}
	if m.Op != term.Reduce || m.Kind != term.Real || m.Reduction.Kind != reduction.Mean {
		return m
	}
	sum := Windowed(m.Reduction)
	if sum == m.Reduction || !bordered(sum) || !cuttable(sum) || !hasElement(sum) {
		return m
	}
	count := *sum
	sum.Kind, count.Kind, count.Body = reduction.Sum, reduction.Sum, term.Number(1)
	own := func(x *term.Term) *term.Term { return x } // its own indices
	return term.Arithmetic(term.Divide, &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: sum},
		(&term.Term{Op: term.Reduce, Kind: term.Integer, Reduction: &count}).Map(own))
}

// bordered reports whether a reduction goes over constant ranges but for what a condition on indices
// excludes, as that on the elements beyond a border does.
func bordered(r *term.Reduction) bool {
	return constantRanges(r) && !r.Guard.Reduces() && !DividesByZero(r.Guard) && slices.ContainsFunc(term.Conjuncts(r.Guard), onIndices)
}

// cuttable reports whether pieces of the indices around a reduction decide its conditions on indices.
func cuttable(r *term.Reduction) bool {
	return !slices.ContainsFunc(term.Conjuncts(r.Guard), func(c *term.Term) bool {
		if !onIndices(c) {
			return false
		}
		if c.Op != term.Less && c.Op != term.AtMost || c.Args[0].Kind != term.Integer || c.Args[1].Kind != term.Integer {
			return true
		}
		return !slides(differenceOf(c.Args[0], c.Args[1]), r.Vars)
	})
}

// slides reports whether a form has one index besides reduced ones, which is not scaled, and of which more
// than borders are left.
func slides(f Form, reduced []*term.Variable) bool {
	around := slices.DeleteFunc(slices.Clone(f.Vars), func(m Multiple) bool { return slices.Contains(reduced, m.Of) })
	return len(f.Rest) == 0 && len(around) == 1 && (around[0].Factor == 1 || around[0].Factor == -1) && Extent(around[0].Of) >= Shortest
}

// onIndices reports whether a condition depends on indices alone.
func onIndices(c *term.Term) bool { return fixed(c) && !Fails(c) }

// padded reports whether a reduction goes over a window of constant size, and reads elements beyond the
// border of a tensor, where others take their places.
func padded(r *term.Reduction) bool {
	found := false
	Reads(r.Body, func(e *term.Read) {
		a := AccessOf(e)
		found = found || e.Else != nil && slices.ContainsFunc(a.Open, func(d int) bool {
			return e.Idx[d].UsesAny(r.Vars) && slides(a.Idx[d], r.Vars)
		})
	})
	return found && constantRanges(r) && r.Guard == nil
}

// constantRanges reports whether all indices of a reduction begin at 0 and end at constants.
func constantRanges(r *term.Reduction) bool {
	return !slices.ContainsFunc(r.Vars, func(v *term.Variable) bool {
		_, known := v.Hi.Known()
		return !known || !v.Lo.Is(0)
	})
}

// hasElement reports whether the condition of a reduction holds for one of its elements, whatever the values
// of the indices around it.
func hasElement(r *term.Reduction) bool {
	found := false
	eachElement(r, mostTested, func(to map[*term.Variable]*term.Term) {
		found = found || !slices.ContainsFunc(term.Conjuncts(r.Guard.Substitute(to)), func(c *term.Term) bool {
			holds, known := settled(c).Truth()
			return !holds || !known
		})
	})
	return found
}

// eachElement calls visit with the values of the reduced indices of each element, in order, if a reduction
// has at most so many.
func eachElement(r *term.Reduction, most int, visit func(to map[*term.Variable]*term.Term)) {
	all := Box(r.Vars)
	if all < 1 || all > most {
		return
	}
	for i := range all {
		to, rest := map[*term.Variable]*term.Term{}, i
		for _, v := range slices.Backward(r.Vars) {
			to[v], rest = term.Number(rest%Extent(v)), rest/Extent(v)
		}
		visit(to)
	}
}

// written replaces reductions over small windows that borders of tensors cut by their elements one after the
// other: pieces of loops then have no conditions. Reductions within other reductions stay.
func written(n *term.Term) *term.Term {
	if n.Op != term.Reduce {
		if !n.Reduces() {
			return n
		}
		return n.Map(written)
	}
	r := n.Reduction
	op, function := term.JoinOf(r.Kind)
	if r.IsOrder() || op == term.Constant || n.Kind == term.Boolean || n.Kind == term.Integer && r.Kind != reduction.Sum || !(bordered(r) && cuttable(r)) && !padded(r) || r.Body.Op == term.Multiply || r.Body.Reduces() || DividesByZero(r.Body) {
		return n
	}
	var out *term.Term
	eachElement(r, mostWritten, func(to map[*term.Variable]*term.Term) {
		x := settled(r.Body.Substitute(to))
		if r.Guard != nil {
			x = term.Chosen(settled(r.Guard.Substitute(to)), x, foldedOf(r.Kind, n.Kind))
		}
		switch {
		case out == nil:
			out = x
		case n.Kind == term.Integer:
			out = term.Sum(out, x)
		default:
			out = &term.Term{Op: op, Kind: n.Kind, Func: function, Args: []*term.Term{out, x}}
		}
	})
	if out == nil {
		return n
	}
	return out
}
