package check

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// enter binds the indices in a subscript n of a left side. A plain new index, as i in y[i], gets the range of
// shape element e, and keeps it in later statements. has says that e is known.
func (f *formula) enter(n expr.Node, e elem, has bool, fr *frame) *expr.Error {
	if id, ok := n.(*expr.Ident); ok {
		base := strings.TrimRight(id.Name, "'")
		if d, _ := f.dimOf(base); has && d == "" && f.isNew(id, fr) {
			x := below(e.n)
			if e.rest {
				x = &extent{run: e.run}
			}
			if f.ranges[base] == nil && x.run == nil && (e.rest || e.n == nil) {
				return failf(n, expr.BadFormula, "nothing says over what %s ranges", id.Name)
			}
			f.setRange(base, x)
		}
	}
	return f.enterAll(n, fr)
}

// isNew reports whether a name has no meaning yet, so that it may become the name of an index.
func (f *formula) isNew(id *expr.Ident, fr *frame) bool {
	base := strings.TrimRight(id.Name, "'")
	_, isParam := fr.param(id.Name)
	t := f.tensors[base]
	return !isParam && len(fr.indices(id.Name)) == 0 && f.sc.What(base) == "" && (t == nil || !t.scalar) && !expr.IsConstant(base)
}

// enterAll binds the indices in all subexpressions of n.
func (f *formula) enterAll(n expr.Node, fr *frame) *expr.Error {
	switch n := n.(type) {
	case *expr.Ident:
		return f.enterIndex(n, n.Name, part{}, fr)
	case *expr.Call:
		if (n.Func == "keep" || n.Func == "drop") && len(n.Args) == 2 {
			if id, ok := n.Args[0].(*expr.Ident); ok && f.mayBind(id, fr) {
				return f.enterIndex(id, id.Name, part{fn: n.Func, axes: show(n.Args[1])}, fr)
			}
		}
		if n.Func == "fit" || n.Func == "ones" {
			return failf(n, expr.BadFormula, "a left side gives each element once, but several indices have the same %s", f.source(n))
		}
		for _, a := range n.Args {
			if err := f.enterAll(a, fr); err != nil {
				return err
			}
		}
	case *expr.Read:
		return f.enterRead(n, fr)
	case *expr.Number:
		for _, a := range n.Items {
			if err := f.enterAll(a, fr); err != nil {
				return err
			}
		}
	case *expr.Binary:
		if err := f.enterAll(n.X, fr); err != nil {
			return err
		}
		return f.enterAll(n.Y, fr)
	case *expr.Unary:
		return f.enterAll(n.X, fr)
	case *expr.Cond:
		for _, x := range []expr.Node{n.If, n.Then, n.Else} {
			if err := f.enterAll(x, fr); err != nil {
				return err
			}
		}
	}
	return nil
}

// enterRead binds a part of a run of indices on the left side, such as x[:n], and the indices in the bounds
// of a slice. A lookup in a tensor is an error.
func (f *formula) enterRead(n *expr.Read, fr *frame) *expr.Error {
	if f.tensors[n.Name] != nil {
		return failf(n, expr.BadFormula, "a left side cannot look anything up: each of its elements is known beforehand")
	}
	id := expr.NewIdent(n.Name, n.Pos(), n.NameEnd)
	if s, ok := soleSlice(n); ok && f.mayBind(id, fr) {
		p, err := f.slicePart(s, fr)
		if err != nil {
			return err
		}
		return f.enterIndex(id, n.Name, p, fr)
	}
	for _, g := range n.Groups {
		for _, x := range g {
			if sl, ok := x.(*expr.Slice); ok {
				for _, b := range []expr.Node{sl.Lo, sl.Hi} {
					if b == nil {
						continue
					}
					if err := f.enterAll(b, fr); err != nil {
						return err
					}
				}
				continue
			}
			if err := f.enterAll(x, fr); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayBind reports whether a name denotes an index with a known range, and not a parameter of a function.
func (f *formula) mayBind(id *expr.Ident, fr *frame) bool {
	if _, isParam := fr.param(id.Name); isParam {
		return false
	}
	return f.rangeOf(strings.TrimRight(id.Name, "'")) != nil
}

// enterIndex binds an index, or part p of a run of indices, on a left side. It does nothing if the same part
// is bound already, since an index may occur twice in a subscript such as (i / 2) * 2 + i % 2.
func (f *formula) enterIndex(n expr.Node, name string, p part, fr *frame) *expr.Error {
	base := strings.TrimRight(name, "'")
	if _, isParam := fr.param(name); isParam {
		return nil
	}
	for _, b := range fr.indices(name) {
		if b.part == p {
			return nil
		}
	}
	x := f.rangeOf(base)
	if x == nil {
		return f.noRange(n, name)
	}
	if err := f.ranged(n, name); err != nil {
		return err
	}
	bound, err := f.partOf(n, *x, p, fr)
	if err != nil {
		return err
	}
	return f.bind(n, name, p, bound, fr)
}

// noRange returns the error for an index on the left side without a range. It returns nil for names that are
// no indices: scalars and declarations of the spec.
func (f *formula) noRange(n expr.Node, name string) *expr.Error {
	base := strings.TrimRight(name, "'")
	if t := f.tensors[base]; t != nil && t.scalar {
		return nil
	}
	switch f.sc.What(base) {
	case "":
	case "slot":
		return f.bindable(n, name)
	default:
		return nil
	}
	if expr.IsConstant(base) {
		return nil
	}
	e := failf(n, expr.BadFormula, "nothing says over what %s ranges", name)
	e.Hint = "give it a range: ... for " + name + " < ..."
	var names []string
	for _, d := range f.sc.Names() {
		if i := strings.ToLower(d); i != d {
			names = append(names, i)
		}
	}
	if len(base) > 2 {
		suggest(e, name, names)
	}
	return e
}

// partOf returns the range of part p of a run of indices, where x is the range of the whole run.
func (f *formula) partOf(n expr.Node, x extent, p part, fr *frame) (extent, *expr.Error) {
	if p.fn == "" {
		return x, nil
	}
	if x.run == nil {
		return x, failf(n, expr.BadFormula, "want an index of a run of dimensions, got that of one")
	}
	return extent{run: f.partRun(x.run, p)}, nil
}

// partRun applies p, which is keep, drop or a slice, to run r.
func (f *formula) partRun(r *run, p part) *run {
	if p.fn == "[" {
		cut := f.cuts[p]
		return f.slice(r, cut[0], cut[1]).asIndex()
	}
	return r.pick(p.fn, named(p.axes)).asIndex()
}
