package loops

import "github.com/opgen/opgen/formula/term"

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
				factors[i] *= extent(b.vars[d+1])
			}
			b.joinVars(d)
		}
		b.joinFolds()
	}
	return factors
}

// forms calls visit for all affine forms of a bundle.
func (b *bundle) forms(visit func(form)) {
	for _, s := range b.statements {
		if b.folds == nil {
			forms(s.value, visit)
		}
		forms(s.guard, visit)
		parts(&term.Term{Op: term.Element, Kind: s.value.Kind, Read: s.left}, visit)
	}
	for _, r := range b.folds {
		forms(r.Guard, visit)
		forms(r.Body, visit)
		forms(r.Number, visit)
		for _, x := range r.At {
			forms(x, visit)
		}
	}
}

// joinable reports whether two loops can be coalesced: every affine form uses the outer index with the inner
// extent times the factor of the inner one, and no range of a reduction uses either.
func (b *bundle) joinable(outer, inner *term.Variable) bool {
	n, ok := extent(inner), true
	for _, r := range b.folds {
		ok = ok && !reaches(r, outer) && !reaches(r, inner)
	}
	b.forms(func(f form) { ok = ok && f.factor(outer) == n*f.factor(inner) && !f.hidden(outer) && !f.hidden(inner) })
	return ok
}

// joined returns the index of a coalesced loop, and the substitution of the two indices.
func joined(outer, inner *term.Variable) (*term.Variable, map[*term.Variable]*term.Term) {
	w := &term.Variable{Name: inner.Name, Lo: term.Number(0), Hi: term.Number(extent(outer) * extent(inner))}
	return w, map[*term.Variable]*term.Term{outer: term.Number(0), inner: w.Term()}
}

// joinVars coalesces loops d and d+1.
func (b *bundle) joinVars(d int) {
	w, to := joined(b.vars[d], b.vars[d+1])
	vars := append([]*term.Variable{}, b.vars[:d]...)
	b.vars = append(append(vars, w), b.vars[d+2:]...)
	for i, s := range b.statements {
		m := *s
		m.vars = b.vars
		left := *numbered(s.left)
		left.Idx = nil
		for _, x := range numbered(s.left).Idx {
			left.Idx = append(left.Idx, x.Substitute(to))
		}
		m.left = &left
		if b.folds == nil {
			m.value = flattened(s.value).Substitute(to)
		}
		m.guard = flattened(s.guard).Substitute(to)
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

// joinFolds coalesces loops of the bundle's reductions.
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
				n := extent(inner)
				check := func(f form) { ok = ok && f.factor(outer) == n*f.factor(inner) && !f.hidden(outer) && !f.hidden(inner) }
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

// flattened replaces in-bounds accesses in a value by accesses with a row-major offset.
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

// numbered returns an in-bounds access with a row-major offset in place of several indices, or r itself.
func numbered(r *term.Read) *term.Read {
	a := accessOf(r)
	if len(a.open) > 0 || len(r.Idx) < 2 {
		return r
	}
	q := *r
	n, total := term.Number(0), 1
	for i, x := range r.Idx {
		n = term.Sum(term.Arithmetic(term.Multiply, n, term.Number(a.ext[i])), x)
		total *= a.ext[i]
	}
	q.Idx, q.Ext, q.ByNumber = []*term.Term{n}, []*term.Term{term.Number(total)}, true
	return &q
}
