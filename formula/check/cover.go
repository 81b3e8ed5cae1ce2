package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// aligned calls f for each index with the element of the shape of t that it stands for, up to where parts of
// runs stand for runs: there, several may stand for several.
func aligned(t *tensor, items []item, elems []elem, f func(item, elem) *expr.Error) *expr.Error {
	if len(items) != len(elems) {
		return nil
	}
	parts := slices.ContainsFunc(items, item.isPart) || slices.ContainsFunc(elems, elem.isPart)
	for i, it := range items {
		e := elems[i]
		run := it.kinds == kRun
		switch {
		case it.kinds != kInt && !run:
			continue
		case parts && (run != e.rest || run && (it.run == nil || e.run == nil || it.run.text != e.run.text)):
			return nil
		case run && !e.rest:
			return failf(it.node, expr.BadFormula, "want one index for the dimension %s of %s, got %s", plainName(e.String()), t.name, it.describe())
		case !run && e.rest:
			return failf(it.node, expr.BadFormula, "want an index of the dimensions %s of %s, got that of one", plainName(e.String()), t.name)
		}
		if err := f(it, e); err != nil {
			return err
		}
	}
	return nil
}

// isPart reports whether an index is that of a part of a run, which others may complete.
func (it item) isPart() bool {
	r, ok := it.node.(*expr.Read)
	return it.kinds == kRun && (it.run == nil || it.run.whole != nil) || ok && it.kinds == kInt && it.int == nil && len(r.Groups) == 1
}

// isPart reports whether an element is a part of a run.
func (e elem) isPart() bool { return e.rest && (e.run == nil || e.run.whole != nil) }

// inside checks that a read lies in its tensor.
func (f *formula) inside(n expr.Node, t *tensor, items []item, elems []elem, fr *frame) *expr.Error {
	return aligned(t, items, elems, func(it item, e elem) *expr.Error {
		if e.rest {
			if it.run == nil || e.run == nil || f.matches(elem{rest: true, run: it.run}, e) {
				return nil
			}
			return failf(it.node, expr.BadFormula, "%s ranges over %s, but this part of %s is %s", f.source(it.node), plainName(it.run.text), t.name, plainName(e.run.text))
		}
		if e.n == nil {
			return nil
		}
		if it.int != nil && f.nonnegative(it.int, fr) && f.nonnegative(e.n.Sub(constant(1)).Sub(it.int), fr) {
			return nil
		}
		return f.outside(n, t, it, e, fr)
	})
}

// outside reports an index of which nothing says that it lies in the tensor.
func (f *formula) outside(n expr.Node, t *tensor, it item, e elem, fr *frame) *expr.Error {
	text := f.source(it.node)
	if it.index && it.int.Single() != "" {
		for _, b := range fr.indices(text) {
			if len(b.his) == 1 && b.his[0] != nil && !f.same(b.his[0], e.n) {
				err := failf(it.node, expr.BadFormula, "%s ranges over %s, but this dimension of %s is %s", text, plainName(b.his[0].String()), t.name, plainName(e.n.String()))
				err.Hint = f.elseHint(n, t)
				if own := f.indexOver(e.n); own != "" && own != strings.TrimRight(text, "'") {
					err.Hint = fmt.Sprintf("an index over %s has its name, such as %s; as %s' in ..., it stays within that dimension", plainName(e.n.String()), own, own)
				}
				return err
			}
		}
	}
	why := "lies below " + plainName(e.n.String())
	if it.int != nil && !f.nonnegative(it.int, fr) {
		why = "is at least 0"
		if !f.nonnegative(e.n.Sub(constant(1)).Sub(it.int), fr) {
			why = "lies from 0 to below " + plainName(e.n.String())
		}
	}
	err := failf(it.node, expr.BadFormula, "nothing says that %s %s, so this may be outside of %s", text, why, t.name)
	err.Hint = f.elseHint(n, t)
	if at, ok := it.int.Number(); ok && at < 0 && e.n.Single() != "" {
		err.Hint = fmt.Sprintf("places count from the front: the last is %s - 1", plainName(e.n.String()))
	}
	if hint := f.lookUpHint(it.node, e); hint != "" {
		err.Hint = hint + ", or " + err.Hint
		if err.Hint == hint+", or " {
			err.Hint = hint
		}
	}
	return err
}

// elseHint says how a read says what counts outside of its tensor.
func (f *formula) elseHint(n expr.Node, t *tensor) string {
	if r, ok := n.(*expr.Read); ok && r.Else == nil {
		return "write what counts there: " + t.name + "[...] else 0"
	}
	return ""
}

// indexOver returns the name of the index over a dimension, or "".
func (f *formula) indexOver(n poly) string {
	own := strings.ToLower(n.Single())
	if d, _ := f.dimOf(own); d == "" || d != n.Single() {
		return ""
	}
	return own
}

// lookUpHint says how an index that is looked up in a tensor is known to lie inside of a dimension; "" for
// another index.
func (f *formula) lookUpHint(n expr.Node, e elem) string {
	r, ok := n.(*expr.Read)
	if !ok || f.tensors[r.Name] == nil {
		return ""
	}
	slot := f.tensors[r.Name].slot
	switch {
	case slot == nil:
		return ""
	case slot.Role == "input" || slot.Role == "weight":
		if slot.Except != "" {
			return fmt.Sprintf("%s may be %s, too: test it, %s != %[2]s ? ... : ...", r.Name, slot.Except, show(r))
		}
		if slot.Below != "" {
			return fmt.Sprintf("the slot %s says below = %q", r.Name, slot.Below)
		}
		return fmt.Sprintf("say in the slot %s: below = %q", r.Name, plainName(e.n.String()))
	}
	return fmt.Sprintf("give the index to a value of the formula first, and %s from that: what argmax gives to a value is known to lie inside", r.Name)
}

// covers checks that a left side gives each element of a slot once, or that of a state not twice.
func (f *formula) covers(n *expr.Read, t *tensor, items []item, elems []elem, fr *frame) *expr.Error {
	seen := map[string]bool{}
	err := aligned(t, items, elems, func(it item, e elem) *expr.Error {
		for _, v := range f.indicesIn(it) {
			if seen[v] {
				return failf(it.node, expr.BadFormula, "%s stands twice on the left side, so not all elements of %s are given", v, t.name)
			}
			seen[v] = true
		}
		if e.rest {
			if it.run == nil || e.run == nil || f.matches(elem{rest: true, run: it.run}, e) {
				return nil
			}
			return failf(it.node, expr.BadFormula, "%s ranges over %s, but this part of the shape of %s is %s", f.source(it.node), plainName(it.run.text), t.name, plainName(e.run.text))
		}
		return f.coversOne(t, it, e, fr)
	})
	if err != nil {
		return err
	}
	return f.allCount(n, items, fr)
}

// indicesIn lists the indices that an item depends on.
func (f *formula) indicesIn(it item) []string {
	var out []string
	expr.Walk(it.node, func(n expr.Node) {
		name := ""
		switch n := n.(type) {
		case *expr.Ident:
			name = n.Name
		case *expr.Read:
			name = n.Name
		}
		if f.rangeOf(strings.TrimRight(name, "'")) != nil && !slices.Contains(out, name) {
			out = append(out, name)
		}
	})
	return out
}

// allCount checks that each index which a left side binds is part of an item, so that no element is given
// twice.
func (f *formula) allCount(n *expr.Read, items []item, fr *frame) *expr.Error {
	var used []string
	for _, it := range items {
		used = append(used, f.indicesIn(it)...)
	}
	for _, g := range n.Groups[:len(n.Groups)-1] {
		for _, x := range g {
			used = append(used, f.indicesIn(item{node: x})...)
		}
	}
	for _, b := range fr.bound {
		if !slices.Contains(used, b.name) {
			return failf(n, expr.BadFormula, "%s does not stand on the left side", b.name)
		}
	}
	return nil
}

// coversOne checks an index on the left side that stands for one dimension.
func (f *formula) coversOne(t *tensor, it item, e elem, fr *frame) *expr.Error {
	if e.n == nil || it.int == nil {
		return nil
	}
	vars := f.indicesIn(it)
	if it.index && len(vars) == 1 {
		b := fr.indices(vars[0])
		if len(b) == 1 && len(b[0].his) == 1 && f.same(b[0].his[0], e.n) && len(b[0].los) == 1 && f.same(b[0].los[0], constant(0)) {
			return nil
		}
		return failf(it.node, expr.BadFormula, "%s ranges over %s, but this dimension of %s is %s", vars[0], plainName(rangeText(b)), t.name, plainName(e.n.String()))
	}
	if len(vars) == 0 {
		if n, ok := e.n.Number(); ok && n == 1 && it.index {
			return nil
		}
		if id, ok := it.node.(*expr.Ident); ok && f.indexOver(atom(id.Name)) != "" {
			e := failf(it.node, expr.BadFormula, "%s is a dimension, and no index", id.Name)
			e.Hint = "the index over " + id.Name + " is " + strings.ToLower(id.Name)
			return e
		}
		if !f.states[t.name] {
			return failf(it.node, expr.BadFormula, "only %s of the %s elements along this dimension of %s is given", f.source(it.node), plainName(e.n.String()), t.name)
		}
		if f.nonnegative(it.int, fr) && f.nonnegative(e.n.Sub(constant(1)).Sub(it.int), fr) {
			return nil
		}
		return failf(it.node, expr.BadFormula, "nothing says that %s lies below %s", f.source(it.node), plainName(e.n.String()))
	}
	if f.mixedRadix(it.int, e.n, vars, fr) || f.offsets(it.int, e.n, vars, fr) {
		return nil
	}
	err := failf(it.node, expr.BadFormula, "nothing says that %s gives each of the %s elements of %s once", f.source(it.node), plainName(e.n.String()), t.name)
	err.Hint = "of a * N + b, b ranges over N, and a over the rest"
	return err
}

func rangeText(bound []*binding) string {
	if len(bound) != 1 || len(bound[0].his) == 0 {
		return "something else"
	}
	return bound[0].his[0].String()
}

// mixedRadix reports whether p, such as a * N + b with b < N, takes each value below n once.
func (f *formula) mixedRadix(p, n poly, vars []string, fr *frame) bool {
	size := f.radix(p, vars, fr)
	return size != nil && f.same(size, n)
}

// radix returns the number n of which p, such as a * N + b with b < N, takes each value below n once; nil if
// p is no such number.
func (f *formula) radix(p poly, vars []string, fr *frame) poly {
	if p == nil {
		return nil
	}
	stride, rest := constant(1), f.normal(p)
	left := slices.Clone(vars)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(v string) bool {
			factor, _, ok := rest.Linear(indexMark + v)
			return ok && f.same(factor, stride)
		})
		if i < 0 {
			return nil
		}
		b := fr.indices(left[i])
		if len(b) != 1 || len(b[0].his) != 1 || len(b[0].los) != 1 || !f.same(b[0].los[0], constant(0)) {
			return nil
		}
		_, rest, _ = rest.Linear(indexMark + left[i])
		stride = f.normal(stride.Mul(b[0].his[0]))
		left = slices.Delete(left, i, i+1)
	}
	if !f.same(rest, constant(0)) {
		return nil
	}
	return stride
}

// offsets reports whether p is sum(C[:i]) + c with c below C[i], which takes each value below n = sum(C)
// once.
func (f *formula) offsets(p, n poly, vars []string, fr *frame) bool {
	if len(vars) != 2 {
		return false
	}
	for k, v := range vars {
		factor, rest, ok := p.Linear(indexMark + v)
		x := f.info[rest.Single()]
		if one, isOne := factor.Number(); !ok || !isOne || one != 1 || x == nil || x.prefix == nil {
			continue
		}
		i := vars[1-k]
		list := x.prefix.whole
		inner, outer := fr.indices(v), fr.indices(i)
		if len(inner) != 1 || len(outer) != 1 || len(inner[0].his) != 1 || len(outer[0].his) != 1 {
			continue
		}
		begin, ok := x.prefix.lo.Number()
		if ok && begin == 0 && x.prefix.hi.Equal(atom(indexMark+i)) && f.same(inner[0].his[0], f.at(list, atom(indexMark+i))) &&
			f.same(outer[0].his[0], list.rank) && f.same(n, f.sum(list)) {
			return true
		}
	}
	return false
}

// sum returns the sum of a list.
func (f *formula) sum(r *run) poly {
	if r == nil {
		return nil
	}
	name := "sum(" + r.text + ")"
	f.atomInfo(name)
	if r.whole != nil && r.whole.whole == nil {
		f.atomInfo(name).prefix = r
	}
	return atom(name)
}
