package derive

import "github.com/opgen/opgen/formula/term"

// spanOf returns the least and the greatest value of an integer, by interval arithmetic. ok is false if they
// are not known.
func spanOf(n *term.Term) (lo, hi int, ok bool) {
	i := (&term.Spans{}).Of(n)
	return i.Lo, i.Hi, i.Known
}

// atLeast reports whether n >= least for all values of its indices. n is normalized first, so that an index
// on both sides of a difference cancels.
func atLeast(n *term.Term, least int) bool {
	lo, _, ok := spanOf(term.Norm(n))
	return ok && lo >= least
}

// exceeds reports whether hi - lo >= least for all values of the indices. It splits a minimum or a maximum
// at the root, so that indices cancel in each case.
func exceeds(hi, lo *term.Term, least int) bool {
	switch {
	case isApplied(hi, term.Min):
		return exceeds(hi.Args[0], lo, least) && exceeds(hi.Args[1], lo, least)
	case isApplied(lo, term.Max):
		return exceeds(hi, lo.Args[0], least) && exceeds(hi, lo.Args[1], least)
	case isApplied(hi, term.Max) && (exceeds(hi.Args[0], lo, least) || exceeds(hi.Args[1], lo, least)):
		return true
	case isApplied(lo, term.Min) && (exceeds(hi, lo.Args[0], least) || exceeds(hi, lo.Args[1], least)):
		return true
	}
	from, _, ok := apart(lo, hi)
	return ok && from >= least
}

// apart returns the least and the greatest value of hi - lo. ok is false if they are not known, as where the
// difference lacks an element that both contain: one of them may have wrapped around, and hi may be above lo
// although the difference is negative, or below lo although it is not.
func apart(lo, hi *term.Term) (least, most int, ok bool) {
	if term.Share(lo, hi) {
		return 0, 0, false
	}
	return spanOf(term.Norm(term.Difference(hi, lo)))
}

func isApplied(n *term.Term, f *term.Function) bool { return n.Op == term.Apply && n.Func == f }

// occupied reports whether the range of v is never empty, for all values of outer indices.
func occupied(v *term.Variable) bool { return exceeds(v.Hi, v.Lo, 1) }

// extentOf returns the length of the range of v: 0 if the range is empty.
func extentOf(v *term.Variable) *term.Term {
	n := term.Difference(v.Hi, v.Lo)
	if exceeds(v.Hi, v.Lo, 0) {
		return n
	}
	return term.Greatest(term.Number(0), n)
}

// greatestLength returns an upper bound of hi - lo for all values of the indices, if one is known. It splits
// minima and maxima at the root, as exceeds does.
func greatestLength(lo, hi *term.Term) (most int, known bool) {
	least := func(lo1, hi1, lo2, hi2 *term.Term) (int, bool) {
		x, known := greatestLength(lo1, hi1)
		y, other := greatestLength(lo2, hi2)
		if !known || other && y < x {
			return y, other
		}
		return x, known
	}
	switch {
	case isApplied(hi, term.Min):
		return least(lo, hi.Args[0], lo, hi.Args[1])
	case isApplied(lo, term.Max):
		return least(lo.Args[0], hi, lo.Args[1], hi)
	}
	_, most, known = apart(lo, hi)
	return most, known
}

// inside reports whether element r is in bounds for all values of its indices.
func inside(r *term.Read) bool {
	idx, ext := r.Idx, r.Ext
	if r.Which != nil {
		idx, ext = append([]*term.Term{r.Which}, idx...), append([]*term.Term{term.Number(r.Count)}, ext...)
	}
	for i, x := range idx {
		lo, hi, ok := spanOf(x)
		if !ok {
			lo, hi, ok = spanOf(term.Norm(x))
		}
		n, known := ext[i].Known()
		if !ok || !known || lo < 0 || hi >= n {
			return false
		}
	}
	return true
}

// certain reports whether all loads in n are in bounds, or have a default.
func certain(n *term.Term) bool {
	ok := true
	n.Walk(func(m *term.Term) { ok = ok && (m.Op != term.Element || m.Read.Else != nil || inside(m.Read)) })
	return ok
}
