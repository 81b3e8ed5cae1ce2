package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// edged divides the ranges of sums in a value where a condition on the index changes, and where a load leaves
// its tensor, so that another value takes its place, as the state before the first step of a recurrence does.
// A part whose guard never holds is dropped. If several parts are left, the sum is divided only where that
// makes the longest one a sum of products of two loads, of which there is a product of matrices.
func edged(n *term.Term) *term.Term {
	if !n.Reduces() {
		return n
	}
	if n.Op != term.Reduce || n.Kind != term.Real || n.Reduction.Kind != reduction.Sum {
		return n.Map(edged)
	}
	for i := range n.Reduction.Vars {
		if parts := partsAt(n, i); parts != nil {
			out := edged(parts[0])
			for _, x := range parts[1:] {
				out = &term.Term{Op: term.Add, Kind: term.Real, Args: []*term.Term{out, edged(x)}}
			}
			return out
		}
	}
	return n.Map(edged)
}

// partsAt returns the parts of a sum by ranges of its index i, or nil if the sum stays whole.
func partsAt(n *term.Term, i int) (parts []*term.Term) {
	r := n.Reduction
	cuts := edgesOf(r, r.Vars[i])
	if len(cuts) == 0 {
		return nil
	}
	longest, product := 0, false
	for k, hi := range cuts[1:] {
		part := restricted(r, i, cuts[k], hi)
		if part == nil {
			continue
		}
		parts = append(parts, &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: part})
		if length := hi - cuts[k]; length > longest {
			longest, product = length, multiplies(part)
		}
	}
	switch {
	case len(parts) == 0:
		return []*term.Term{term.RealNumber(0)}
	case len(parts) == 1, product && !multiplies(r) && Box(n.Free())*Box(r.Vars) >= leastProducts:
		return parts
	}
	return nil
}

// restricted returns a reduction whose index i has the values from lo to hi-1 only. It returns nil if the
// guard holds for none of them.
func restricted(r *term.Reduction, i, lo, hi int) *term.Reduction {
	v := r.Vars[i]
	w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(hi - lo)}
	to := map[*term.Variable]*term.Term{v: term.Sum(w.Term(), term.Number(lo))}
	out := *r
	out.Vars = slices.Concat(r.Vars[:i], []*term.Variable{w}, r.Vars[i+1:])
	if hi == lo+1 && len(r.Vars) > 1 {
		to[v] = term.Number(lo)
		out.Vars = slices.Concat(r.Vars[:i], r.Vars[i+1:])
	}
	out.Guard, out.Body = settled(r.Guard.Substitute(to)), settled(r.Body.Substitute(to))
	for _, c := range term.Conjuncts(out.Guard) {
		if holds, known := c.Truth(); known && !holds {
			return nil
		}
		if Fails(c) { // before one that does not hold
			break
		}
	}
	if out.Guard != nil {
		if holds, known := out.Guard.Truth(); known && holds {
			out.Guard = nil
		}
	}
	return &out
}

// edgesOf returns the ends of the parts of a reduced index, from 0 to its extent. It returns nil if there is
// only one part, or too many.
func edgesOf(r *term.Reduction, v *term.Variable) (at []int) {
	n, known := v.Hi.Known()
	if !known || !v.Lo.Is(0) || Reaches(r, v) {
		return nil
	}
	visit := func(x *term.Term) {
		at = append(at, changes(x, v)...)
		if x.Op != term.Element || x.Read.Else == nil {
			return
		}
		a := AccessOf(x.Read)
		for _, d := range a.Open {
			if f := a.Idx[d]; f.alone(v) && f.Vars[0].Factor > 0 {
				at = append(at, -f.Base, a.Ext[d]-f.Base)
			} else if f.alone(v) {
				at = append(at, f.Base+1, f.Base+1-a.Ext[d])
			}
		}
	}
	r.Guard.Walk(visit)
	r.Body.Walk(visit)
	return ends(at, n, maxEdges)
}

// multiplies reports whether a reduction is a sum of products of two loads, without conditions.
func multiplies(r *term.Reduction) bool {
	return r.Guard == nil && r.Body.Op == term.Multiply && !slices.ContainsFunc(r.Body.Args, func(x *term.Term) bool {
		return x.Op != term.Element || x.Kind != term.Real || x.Read.Which != nil || len(AccessOf(x.Read).Open) > 0
	})
}
