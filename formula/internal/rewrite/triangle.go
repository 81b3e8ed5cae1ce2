package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// rectangular makes the iteration spaces of reductions rectangular (loop rectangularization): a range that
// grows or shrinks with an index of the results, as in a triangle of pairs, becomes a constant one with a
// guard. Strips can then run over the reduced index. It does so where they cannot run over the last index of
// the results, where this one is short, and where the reduction goes over several indices, so that its sum
// may be taken apart. around are the indices around the value. A range that is a small part of the constant
// one stays. So do the range of a scan, and that of a reduction with a long function of indices.
func (z *normalizer) rectangular(n *term.Term, around []*term.Variable) *term.Term {
	if !n.Reduces() {
		return n
	}
	inner := around
	if n.Op == term.Reduce {
		inner = slices.Concat(around, n.Reduction.Vars)
	}
	n = n.Map(func(x *term.Term) *term.Term { return z.rectangular(x, inner) })
	if n.Op != term.Reduce || n.Kind != term.Real || !n.Reduction.Kind.Is(reduction.Guarded) || n.Reduction.Scan() != nil || n.Reduction.Chain() != nil {
		return n
	}
	var last *term.Variable
	for _, v := range around {
		if n.Uses(v) {
			last = v
		}
	}
	r := *n.Reduction
	if last == nil || !Reaches(&r, last) && Extent(last) >= Shortest && len(r.Vars) == 1 || byIndex(r.Body) {
		return n
	}
	r.Vars = slices.Clone(r.Vars)
	to := map[*term.Variable]*term.Term{}
	var conditions []*term.Term
	for i, v := range r.Vars {
		if !IsOpen(v) {
			continue
		}
		w := z.around(v)
		if w == nil {
			return n
		}
		first, _ := w.Lo.Known()
		size := Extent(w) - first
		if !z.mostly(v, size, n.Reduction.Vars) {
			return n
		}
		r.Vars[i] = &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(size)}
		to[v] = term.Sum(r.Vars[i].Term(), term.Number(first))
		conditions = append(conditions, atMost(v.Lo, to[v]), below(to[v], v.Hi))
	}
	conditions = append(conditions, r.Guard.Substitute(to)) // last: it may load elements beyond the range
	for i, c := range conditions {
		if c == nil {
			continue
		}
		conditions[i] = settled(c)
		if holds, known := conditions[i].Truth(); known && holds {
			conditions[i] = nil
		}
	}
	r.Guard, r.Body = term.All(conditions...), r.Body.Substitute(to)
	return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
}

// mostly reports whether an index has many of the values of a constant range of a size: a quarter on average,
// if the length of its own range is linear. The range depends neither on elements, nor on other reduced
// indices, nor on the index of a recurrence.
func (z *normalizer) mostly(v *term.Variable, size int, reduced []*term.Variable) bool {
	for _, end := range []*term.Term{v.Lo, v.Hi} {
		if end.Reads() || end.UsesAny(reduced) || end.UsesAny(z.outer) {
			return false
		}
	}
	length := differenceOf(v.Hi, v.Lo)
	within := length.Bounds()
	return len(length.Rest) == 0 && within.Known && 2*(max(within.Lo, 0)+within.Hi) >= size
}

// byIndex reports whether a value has an expensive function of indices only, which is computed one by one.
func byIndex(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || takesLong(m) && fixed(m) && len(m.Free()) > 0 })
	return found
}
