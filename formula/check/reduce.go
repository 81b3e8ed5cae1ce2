package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// reduce infers the value of a reduction: it binds the indices, and checks the condition and the body.
func (f *formula) reduce(n *expr.Reduce, fr *frame) (value, *expr.Error) {
	if fr.ofSpec() { // a fold, which is checked where expressions are
		if n.Kind.Is(reduction.Truth) {
			return value{kinds: kBool}, nil
		}
		return f.opaque(show(n)), nil
	}
	in := &frame{outer: fr}
	for _, b := range n.Binders {
		if err := f.binder(b, in); err != nil {
			return value{}, err
		}
	}
	if n.If != nil {
		c, err := f.eval(n.If, in, false)
		if err != nil {
			return value{}, err
		}
		if err := want(n.If, c, kBool); err != nil {
			return value{}, err
		}
		in = f.assuming(n.If, true, in, false)
	}
	if n.X == nil {
		return value{kinds: kInt}, allUsed(n)
	}
	x, err := f.eval(n.X, in, false)
	if err == nil { // an index that is missing in brackets is told first
		err = allUsed(n)
	}
	if err != nil {
		return value{}, err
	}
	if n.Kind.Is(reduction.Order) {
		if err := want(n.X, x, kNumber); err != nil {
			return value{}, err
		}
		return f.ordered(n, in, fr)
	}
	switch {
	case n.Kind.Is(reduction.Truth):
		return value{kinds: kBool}, want(n.X, x, kBool)
	case n.Kind.Is(reduction.Argument):
		return value{kinds: kInt}, want(n.X, x, kNumber)
	case n.Kind.Is(reduction.Real):
		return value{kinds: kFloat}, want(n.X, x, kNumber)
	}
	return value{kinds: x.kinds & kNumber}, want(n.X, x, kNumber)
}

// allUsed returns an error if a reduction does not depend on one of its indices. count(k) without a condition
// may ignore them.
func allUsed(n *expr.Reduce) *expr.Error {
	if n.X == nil && n.If == nil {
		return nil
	}
	for i, b := range n.Binders {
		name, used := binderName(b), false
		uses := func(n expr.Node) {
			expr.Walk(n, func(n expr.Node) {
				switch n := n.(type) {
				case *expr.Ident:
					used = used || n.Name == name
				case *expr.Read:
					used = used || n.Name == name
				}
			})
		}
		uses(n.If)
		uses(n.X)
		for _, later := range n.Binders[i+1:] {
			uses(later.Lo)
			uses(later.Hi)
		}
		if !used {
			return failf(b, expr.BadFormula, "%s goes over %s, but does not depend on it", n.Kind, name)
		}
	}
	return nil
}

// binderName returns the name of the index in a binder, or "".
func binderName(b *expr.Binder) string {
	switch x := b.X.(type) {
	case *expr.Ident:
		return x.Name
	case *expr.Read:
		return x.Name
	case *expr.Call:
		if id, ok := firstIdent(x); ok {
			return id.Name
		}
	}
	return ""
}

// binder binds the index of one binder of a reduction in fr: an index, an index with a range, or a part of a
// run of indices.
func (f *formula) binder(b *expr.Binder, fr *frame) *expr.Error {
	switch x := b.X.(type) {
	case *expr.Ident:
		if b.Hi != nil {
			return f.rangeBinder(b, x, fr)
		}
		base := strings.TrimRight(x.Name, "'")
		if r := f.rangeOf(base); r != nil {
			if err := f.ranged(x, x.Name); err != nil {
				return err
			}
			return f.bind(x, x.Name, part{}, *r, fr)
		}
		return f.noIndex(x, fr)
	case *expr.Call:
		if id, ok := firstIdent(x); ok && (x.Func == "keep" || x.Func == "drop") && len(x.Args) == 2 {
			axes, err := f.eval(x.Args[1], fr, true)
			if err != nil {
				return err
			}
			if err := want(x.Args[1], axes, kRun); err != nil {
				return err
			}
			return f.bindPart(id, part{fn: x.Func, axes: f.unique(x.Args[1], fr)}, fr)
		}
	case *expr.Read:
		if s, ok := soleSlice(x); ok && f.tensors[x.Name] == nil {
			p, err := f.slicePart(s, fr)
			if err != nil {
				return err
			}
			id := expr.NewIdent(x.Name, x.Pos(), x.NameEnd)
			if r := f.rangeOf(strings.TrimRight(x.Name, "'")); r != nil {
				if err := f.cutsWithin(s, id, r.run, fr); err != nil {
					return err
				}
			}
			return f.bindPart(id, p, fr)
		}
	}
	e := failf(b, expr.BadFormula, "want an index, got %s", f.source(b.X))
	e.Hint = "an index, with or without a range, or keep(x, axes), drop(x, axes) or x[a:b] of the index x of a run"
	return e
}

func firstIdent(n *expr.Call) (*expr.Ident, bool) {
	if len(n.Args) == 0 {
		return nil, false
	}
	id, ok := n.Args[0].(*expr.Ident)
	return id, ok
}

func soleSlice(n *expr.Read) (*expr.Slice, bool) {
	if len(n.Groups) != 1 || len(n.Groups[0]) != 1 || n.Old || n.Else != nil {
		return nil, false
	}
	s, ok := n.Groups[0][0].(*expr.Slice)
	return s, ok
}

// bindPart binds part p of a run of indices.
func (f *formula) bindPart(id *expr.Ident, p part, fr *frame) *expr.Error {
	x := f.rangeOf(strings.TrimRight(id.Name, "'"))
	if x == nil {
		return f.noIndex(id, fr)
	}
	if err := f.ranged(id, id.Name); err != nil {
		return err
	}
	bound, err := f.partOf(id, *x, p, fr)
	if err != nil {
		return err
	}
	return f.bind(id, id.Name, p, bound, fr)
}

// noIndex returns the error for a name that is used as an index but has no range.
func (f *formula) noIndex(n *expr.Ident, fr *frame) *expr.Error {
	if _, ok := fr.param(n.Name); ok {
		return failf(n, expr.BadFormula, "%s is a parameter, so no index can have its name", n.Name)
	}
	if err := f.bindable(n, n.Name); err != nil {
		return err
	}
	e := failf(n, expr.BadFormula, "nothing says over what %s ranges", n.Name)
	e.Hint = "give it a range: " + n.Name + " < ..."
	return e
}

// rangeBinder binds an index with an explicit range. If the index is that of a dimension, its range is
// clipped to the dimension.
func (f *formula) rangeBinder(b *expr.Binder, id *expr.Ident, fr *frame) *expr.Error {
	base := strings.TrimRight(id.Name, "'")
	x, err := f.explicit(b, base, fr)
	if err != nil {
		return err
	}
	if d, _ := f.dimOf(base); d == "" && independent(x) {
		f.setRange(base, x)
	}
	return f.bind(id, id.Name, part{}, *x, fr)
}

// explicit evaluates the explicit range of a binder: name < hi, or name in lo .. hi. base is the name of the
// index without primes.
func (f *formula) explicit(b *expr.Binder, base string, fr *frame) (*extent, *expr.Error) {
	d, dim := f.dimOf(base)
	taken := func() *expr.Error {
		e := failf(b, expr.BadFormula, "%s ranges over %s already", base, d)
		e.Hint = "leave the range out, write " + base + " in ... for a part of it, or name the index otherwise"
		return e
	}
	if d != "" && dim.kinds == kRun {
		return nil, taken()
	}
	hi, err := f.integer(b.Hi, fr)
	if err != nil {
		return nil, err
	}
	x := below(hi.int)
	if d != "" && b.Lo == nil {
		if hi.int == nil || dim.int == nil || !f.same(hi.int, dim.int) {
			return nil, taken()
		}
		return x, nil // the range that it has
	}
	if b.Lo != nil {
		lo, err := f.integer(b.Lo, fr)
		if err != nil {
			return nil, err
		}
		x.los[0] = lo.int
	}
	if d != "" {
		x.los, x.his = append(x.los, constant(0)), append(x.his, dim.int)
	}
	return x, nil
}

// independent reports whether a range depends on no other index.
func independent(x *extent) bool {
	for _, p := range slices.Concat(x.los, x.his) {
		if p == nil || slices.ContainsFunc(p.Keys(), func(a string) bool { return strings.Contains(a, indexMark) }) {
			return false
		}
	}
	return true
}

// lasting returns range x without the bounds that depend on other indices.
func lasting(x extent) *extent {
	out := &extent{}
	for _, lo := range x.los {
		if independent(&extent{los: []poly{lo}}) {
			out.los = append(out.los, lo)
		}
	}
	for _, hi := range x.his {
		if independent(&extent{his: []poly{hi}}) {
			out.his = append(out.his, hi)
		}
	}
	return out
}
