package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// collapse coalesces adjacent loops of a group's bundles if every access of the bundles is contiguous across
// both. It returns, for each bundle, the number of iterations that were coalesced into one iteration of the
// last shared loop.
func collapse(g *bundleGroup) []int {
	for d := g.depth - 2; d >= 0; d-- {
		all := true
		for _, b := range g.bundles {
			all = all && b.joinable(b.vars[d], b.vars[d+1])
		}
		if all {
			for _, b := range g.bundles {
				b.joinVars(d)
			}
			g.depth--
		}
	}
	factors := make([]int, len(g.bundles))
	for i, b := range g.bundles {
		factors[i] = 1
		for d := len(b.vars) - 2; d >= max(g.depth-1, 0); d-- {
			if !b.joinable(b.vars[d], b.vars[d+1]) {
				continue
			}
			if d == g.depth-1 {
				factors[i] *= rewrite.Extent(b.vars[d+1])
			}
			b.joinVars(d)
		}
		b.joinFolds()
	}
	return factors
}

// forms calls visit for all affine forms of a bundle. If the bundle has no reduction, subscripts that loops
// do not check are left out: only the offset of such an access matters.
func (b *bundle) forms(visit func(rewrite.Form)) {
	w := walker{visit, b.folds == nil}
	for _, s := range b.statements {
		if b.folds == nil {
			w.forms(s.Value)
		}
		w.forms(s.Guard)
		w.parts(&term.Term{Op: term.Element, Kind: s.Value.Kind, Read: s.Left})
	}
	for _, r := range b.folds {
		w.forms(r.Guard)
		w.forms(r.Body)
		w.forms(r.Number)
		for _, x := range r.At {
			w.forms(x)
		}
	}
}

// joinable reports whether two loops can be coalesced: the coefficient of the outer index is that of the
// inner one times the inner extent, in every affine form, and no range of a reduction uses either index. The
// forms include those in opaque integers, such as the subscripts of their elements.
func (b *bundle) joinable(outer, inner *term.Variable) bool {
	n, ok := rewrite.Extent(inner), rewrite.Extent(outer)*rewrite.Extent(inner) > 0 // offsets in tensors without elements say nothing
	for _, r := range b.folds {
		ok = ok && !rewrite.Reaches(r, outer) && !rewrite.Reaches(r, inner)
	}
	b.forms(func(f rewrite.Form) {
		ok = ok && f.Factor(outer) == n*f.Factor(inner)
	})
	return ok
}

// joined returns the index of the loop into which two loops are coalesced, and the terms that replace their
// indices.
func joined(outer, inner *term.Variable) (*term.Variable, map[*term.Variable]*term.Term) {
	w := &term.Variable{Name: inner.Name, Lo: term.Number(0), Hi: term.Number(rewrite.Extent(outer) * rewrite.Extent(inner))}
	return w, map[*term.Variable]*term.Term{outer: term.Number(0), inner: w.Term()}
}

// joinVars coalesces loops d and d+1.
func (b *bundle) joinVars(d int) {
	w, to := joined(b.vars[d], b.vars[d+1])
	vars := append([]*term.Variable{}, b.vars[:d]...)
	b.vars = append(append(vars, w), b.vars[d+2:]...)
	for i, s := range b.statements {
		m := *s
		m.Vars = b.vars
		left := *numbered(s.Left)
		left.Idx = nil
		for _, x := range numbered(s.Left).Idx {
			left.Idx = append(left.Idx, flattened(x).Substitute(to))
		}
		m.Left = &left
		if b.folds == nil {
			m.Value = flattened(s.Value).Substitute(to)
		}
		m.Guard = flattened(s.Guard).Substitute(to)
		b.statements[i] = &m
	}
	for i, r := range b.folds {
		q := *r
		q.Guard, q.Body, q.Number, q.At = flattened(r.Guard).Substitute(to), flattened(r.Body).Substitute(to), flattened(r.Number).Substitute(to), nil
		for _, x := range r.At {
			q.At = append(q.At, flattened(x).Substitute(to))
		}
		b.folds[i] = &q
	}
}

// joinFolds coalesces adjacent loops of the bundle's reductions where that is legal.
func (b *bundle) joinFolds() {
	if b.folds == nil || argument(b.folds[0]) || b.folds[0].IsOrder() {
		return
	}
	for d := len(b.folds[0].Vars) - 2; d >= 0; d-- {
		ok := true
		for _, r := range b.folds {
			outer, inner := r.Vars[d], r.Vars[d+1]
			for _, v := range []*term.Variable{outer, inner} {
				_, known := v.Hi.Known()
				ok = ok && known && v.Lo.Is(0)
			}
			for _, v := range r.Vars { // their ranges may depend on the two indices
				ok = ok && !v.Lo.UsesAny([]*term.Variable{outer, inner}) && !v.Hi.UsesAny([]*term.Variable{outer, inner})
			}
			if ok {
				n := rewrite.Extent(inner)
				check := func(f rewrite.Form) {
					ok = ok && f.Factor(outer) == n*f.Factor(inner)
				}
				forms(r.Guard, check)
				forms(r.Body, check)
			}
		}
		if !ok {
			continue
		}
		for i, r := range b.folds {
			w, to := joined(r.Vars[d], r.Vars[d+1])
			q := *r
			q.Vars = append(append(append([]*term.Variable{}, r.Vars[:d]...), w), r.Vars[d+2:]...)
			q.Guard, q.Body = flattened(r.Guard).Substitute(to), flattened(r.Body).Substitute(to)
			b.folds[i] = &q
		}
	}
}

// flattened replaces every access in a value by numbered.
func flattened(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	m := n.Map(flattened)
	if m.Op == term.Element {
		c := *m
		c.Read = numbered(m.Read)
		return &c
	}
	return m
}

// numbered returns an access whose adjacent subscripts, where they are proved to be in bounds, are replaced
// by one row-major number.
func numbered(r *term.Read) *term.Read {
	a := rewrite.AccessOf(r)
	if len(r.Idx) < 2 {
		return r
	}
	q := *r
	q.Idx, q.Ext, q.ByNumber = nil, nil, true
	for i, x := range r.Idx {
		last := len(q.Idx) - 1
		if i == 0 || slices.Contains(a.Open, i) || slices.Contains(a.Open, i-1) {
			q.Idx, q.Ext = append(q.Idx, x), append(q.Ext, term.Number(a.Ext[i]))
			continue
		}
		before, _ := q.Ext[last].Known()
		q.Idx[last] = term.Sum(term.Arithmetic(term.Multiply, q.Idx[last], term.Number(a.Ext[i])), x)
		q.Ext[last] = term.Number(before * a.Ext[i])
	}
	if len(q.Idx) == len(r.Idx) {
		return r
	}
	return &q
}
