package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// aligned pairs the subscripts of an access with the elements of the tensor's shape and calls f for each
// pair, until f returns an error. It stops early at parts of runs, such as x[1:], where several subscripts
// may correspond to several elements. A run of indices beside a single dimension is an error.
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

// isPart reports whether a subscript is a part of a run of indices, such as x[1:], or an element of one.
func (it item) isPart() bool {
	r, ok := it.node.(*expr.Read)
	return it.kinds == kRun && (it.run == nil || it.run.whole != nil) || ok && it.kinds == kInt && it.int == nil && len(r.Groups) == 1
}

// isPart reports whether a shape element is a part of a run of dimensions, such as X[1:]..., or an unknown
// run.
func (e elem) isPart() bool { return e.rest && (e.run == nil || e.run.whole != nil) }

// inside returns an error unless each subscript of an access is provably in bounds: 0 <= subscript < extent.
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
		if it.int != nil && f.within(it.int, e.n, fr) {
			return nil
		}
		return f.outside(n, t, it, e, fr)
	})
}

// within reports whether 0 <= p < n is provable at fr: for the integer p, or for the value of p, which may
// have wrapped around and which conditions at fr compare. A part of the one proof does not complete the
// other, unless p is no sum.
func (f *formula) within(p, n poly, fr *frame) bool {
	above, under := f.nonnegative(p, fr), f.nonnegative(n.Sub(constant(1)).Sub(p), fr)
	if above && under {
		return true
	}
	if p.Single() == "" {
		above, under = false, false
	}
	for in := fr; in != nil; in = in.outer {
		for _, t := range in.tests {
			more := constant(1)
			if t.equal {
				more = constant(0)
			}
			above = above || t.y.Equal(p) && f.nonnegative(t.x.Add(more), fr)
			under = under || t.x.Equal(p) && f.nonnegative(n.Sub(t.y).Sub(constant(1)).Add(more), fr)
		}
	}
	return above && under
}

// outside returns the error for subscript it, which is not provably below extent e, with a hint.
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
	if hint := f.lookUpHint(fr.written(it.node), e); hint != "" {
		err.Hint = hint + ", or " + err.Hint
		if err.Hint == hint+", or " {
			err.Hint = hint
		}
	}
	return err
}

// elseHint returns the hint to add a default value to an access, as in (x[n + 1] else 0); it is "" if the
// access has a default. In parentheses, it may stand in place of the access, also in a power.
func (f *formula) elseHint(n expr.Node, t *tensor) string {
	if r, ok := n.(*expr.Read); ok && r.Else == nil {
		return "write what counts there: (" + f.source(n) + " else 0)"
	}
	return ""
}

// indexOver returns the name of the index whose range is dimension n, such as k for K, or "" if n is not a
// dimension by itself.
func (f *formula) indexOver(n poly) string {
	own := strings.ToLower(n.Single())
	if d, _ := f.dimOf(own); d == "" || d != n.Single() {
		return ""
	}
	return own
}

// lookUpHint returns the hint for a subscript that is loaded from a tensor, as in w[id[n], k]: where to state
// that its values are below e. It returns "" for other subscripts.
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

// covers returns an error unless the left side x[items] visits each element of tensor t exactly once. A
// statement that updates a state may leave elements out, but must not visit one twice.
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

// indicesIn lists the index variables in a subscript.
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

// allCount returns an error if an index that the left side binds is in no subscript: the statement would
// define each element several times.
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

// coversOne returns an error unless the values of subscript it are those of dimension e, each once. A state
// may have a fixed subscript that is in bounds.
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

// mixedRadix reports whether the values of p over the indices vars are 0 .. n, each once, as those of a * N +
// b with b < N.
func (f *formula) mixedRadix(p, n poly, vars []string, fr *frame) bool {
	size := f.radix(p, vars, fr)
	return size != nil && f.same(size, n)
}

// radix returns n if p is a mixed radix number in the indices vars: its values are 0 .. n, each once, as
// those of a * N + b with b < N. It returns nil otherwise. It finds the digits from the least significant one
// on: each has the product of the ranges so far as its stride.
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

// offsets reports whether p is sum(C[:i]) + c with c < C[i]: the position of element c of part i in a
// concatenation. Its values are 0 .. sum(C), each once; n must equal sum(C).
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

// sum returns the sum of a list of integers as an atom. If the list is a slice C[:i], the atom is marked as a
// prefix sum, about which proofs know more.
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
