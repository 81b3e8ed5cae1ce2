package check

import (
	"fmt"

	"github.com/opgen/opgen/formula/expr"
)

// item is one subscript of an access: an index expression, or a run of indices.
type item struct {
	node expr.Node
	value
}

func (it item) rank() poly {
	switch {
	case it.kinds == kRun && it.run != nil:
		return it.run.rank
	case it.kinds&kRun != 0:
		return nil
	}
	return constant(1)
}

// items infers the values of subscripts, each of which must be an integer or a run of indices.
func (f *formula) items(nodes []expr.Node, fr *frame) ([]item, *expr.Error) {
	var out []item
	for _, n := range nodes {
		if s, ok := n.(*expr.Slice); ok {
			e := failf(s, expr.BadFormula, "want an index, got a range")
			e.Hint = "name an index for each dimension, such as n; ranges cut runs of dimensions and of indices, such as x[1:]"
			return nil, e
		}
		v, err := f.eval(n, fr, true)
		if err != nil {
			return nil, err
		}
		if err := f.wantIndex(n, v, kInt|kRun); err != nil {
			err.Message = "want an index, got " + v.describe()
			return nil, err
		}
		if v.kinds == kRun && v.run != nil && !v.run.index {
			return nil, failf(n, expr.BadFormula, "want an index, got the dimensions %s", plainName(v.run.text))
		}
		out = append(out, item{n, v})
	}
	return out, nil
}

// itemsOf infers the subscripts in group of an access to tensor t, and checks their number against the shape
// elems. It returns nil for a flat access x[#i], and for a tensor of unknown shape.
func (f *formula) itemsOf(n expr.Node, t *tensor, group []expr.Node, elems []elem, fr *frame) ([]item, *expr.Error) {
	if len(group) == 1 {
		if num, ok := group[0].(*expr.Number); ok {
			return nil, f.byNumber(num, t, elems, fr)
		}
	}
	items, err := f.items(group, fr)
	if err != nil {
		return nil, err
	}
	if !t.known {
		return nil, nil
	}
	return items, f.form(n, t, items, elems)
}

// form checks that an access has as many subscripts as the tensor has dimensions. Ranks of runs are symbolic.
func (f *formula) form(n expr.Node, t *tensor, items []item, elems []elem) *expr.Error {
	have, need := constant(0), constant(0)
	for _, it := range items {
		have = have.Add(it.rank())
	}
	for _, e := range elems {
		need = need.Add(e.rank())
	}
	if have == nil || need == nil || f.same(have, need) {
		return nil
	}
	e := failf(n, expr.BadFormula, "the shape of %s is %s, got %s", t.name, shapeText(elems), countItems(items))
	return e
}

func countItems(items []item) string {
	runs := 0
	for _, it := range items {
		if it.kinds == kRun {
			runs++
		}
	}
	s := fmt.Sprintf("%d indices", len(items))
	switch {
	case len(items) == 0:
		s = "no index"
	case len(items) == 1:
		s = "one index"
	}
	switch {
	case runs == 1 && len(items) == 1:
		s += ", which is a run"
	case runs == 1:
		s += ", one of them a run"
	case runs > 1:
		s += fmt.Sprintf(", %d of them runs", runs)
	}
	return s
}

// rowMajor infers the value of #(i, j), the row-major flat index of several indices: an integer that proofs
// know nothing about.
func (f *formula) rowMajor(n *expr.Number, fr *frame) (value, *expr.Error) {
	_, err := f.numbered(n, fr)
	return value{kinds: kInt, int: nil}, err
}

// numbered checks the indices of #(i, j), and returns the number of its values: the product of the extents of
// i and j. It returns nil if that is unknown.
func (f *formula) numbered(n *expr.Number, fr *frame) (poly, *expr.Error) {
	items, err := f.items(n.Items, fr)
	if err != nil {
		return nil, err
	}
	size := constant(1)
	for _, it := range items {
		switch {
		case it.kinds == kRun:
			if it.run == nil {
				return nil, nil
			}
			size = size.Mul(it.run.size)
		case it.index:
			size = size.Mul(f.extentOf(it, fr))
		case it.kinds == kAny:
			size = nil
		default:
			return nil, failf(it.node, expr.BadFormula, "%s is not an index by itself, so it has no row-major number", f.source(it.node))
		}
	}
	return size, nil
}

// extentOf returns the length of the range of a plain index, or nil if it is unknown.
func (f *formula) extentOf(it item, fr *frame) poly {
	if n, ok := it.int.Number(); ok && n == 0 {
		return constant(1)
	}
	for _, b := range fr.indices(plainName(it.int.Single())) {
		if len(b.his) == 1 && len(b.los) == 1 {
			return b.his[0].Sub(b.los[0])
		}
	}
	return nil
}

// byNumber checks a flat access x[#(i, j)]: the flat index must have as many values as the tensor has
// elements.
func (f *formula) byNumber(n *expr.Number, t *tensor, elems []elem, fr *frame) *expr.Error {
	size, err := f.numbered(n, fr)
	if err != nil || !t.known {
		return err
	}
	all := sizeOf(elems)
	if size == nil || all == nil || f.same(size, all) {
		return nil
	}
	return failf(n, expr.BadFormula, "%s counts %s elements, but %s has %s", f.source(n), plainName(f.normal(size).String()), t.name, plainName(f.normal(all).String()))
}

// part infers the value of a subscript on a run or a list: an element X[i], or a slice X[lo:hi].
func (f *formula) part(n, of expr.Node, group []expr.Node, fr *frame) (value, *expr.Error) {
	s, isSlice := group[0].(*expr.Slice)
	if id, ok := of.(*expr.Ident); ok && isSlice {
		p, err := f.slicePart(s, fr)
		if err != nil {
			return value{}, err
		}
		if b := boundPart(fr, id.Name, p); b != nil {
			return value{kinds: kRun, run: b.run.asIndex(), index: true}, nil
		}
	}
	x, err := f.eval(of, fr, true)
	if err != nil {
		return value{}, err
	}
	if elem := kindsOf[x.typ.Elem]; x.kinds == kOther && elem&kElement != 0 {
		return f.elementOf(n, of, x, group, elem, fr)
	}
	if err := want(of, x, kRun); err != nil {
		return value{}, err
	}
	if isSlice {
		lo, hi, err := f.bounds(s, fr)
		if err != nil {
			return value{}, err
		}
		if err := f.cutsWithin(s, of, runOf(x), fr); err != nil {
			return value{}, err
		}
		return value{kinds: kRun, run: f.slice(runOf(x), lo, hi), index: x.index}, nil
	}
	i, err := f.integer(group[0], fr)
	if err != nil {
		return value{}, err
	}
	r := runOf(x)
	if err := f.holdsAt(n, of, r, group[0], i, fr); err != nil {
		return value{}, err
	}
	switch {
	case r == nil:
		return value{kinds: kInt}, nil
	case r.each:
		return value{kinds: kRun, run: f.element(r, i.int)}, nil
	case r.index:
		return value{kinds: kInt}, nil
	}
	return integer(f.at(r, i.int)), nil
}

// elementOf infers the value of list[i], for a list attribute of floats or booleans. elem is the kind of the
// list's elements.
func (f *formula) elementOf(n, of expr.Node, list value, group []expr.Node, elem kinds, fr *frame) (value, *expr.Error) {
	if _, ok := group[0].(*expr.Slice); ok {
		return value{}, failf(n, expr.BadType, "ranges are parts of runs and of lists of integers, got %s", list.describe())
	}
	if err := want(of, list, kOther); err != nil {
		return value{}, err
	}
	i, err := f.integer(group[0], fr)
	if err != nil {
		return value{}, err
	}
	return value{kinds: elem}, f.holdsAt(n, of, list.run, group[0], i, fr)
}

// cutsWithin returns an error unless the bounds of a slice of run r, such as x[2:], are provably between 0
// and the rank of r. Bounds that are a dimension or an attribute are checked when shapes are known.
func (f *formula) cutsWithin(s *expr.Slice, of expr.Node, r *run, fr *frame) *expr.Error {
	if r == nil || r.rank == nil || fr.ofSpec() {
		return nil
	}
	for _, b := range []expr.Node{s.Lo, s.Hi} {
		if id, ok := b.(*expr.Ident); b == nil || ok && f.sc != nil && f.sc.What(id.Name) != "" {
			continue
		}
		v, err := f.integer(b, fr)
		if err != nil {
			return err
		}
		if v.kinds != kInt || v.int != nil && f.nonnegative(v.int, fr) && f.nonnegative(r.rank.Sub(v.int), fr) {
			continue
		}
		e := failf(b, expr.BadFormula, "nothing says that %s has %s elements", f.source(of), f.source(b))
		e.Hint = fmt.Sprintf("test it: len(%s) >= %s ? ... : ...", f.source(of), f.source(b))
		return e
	}
	return nil
}

// holdsAt returns an error unless i is provably a valid element number of run r: 0 <= i < len(r).
func (f *formula) holdsAt(n, of expr.Node, r *run, at expr.Node, i value, fr *frame) *expr.Error {
	if fr.ofSpec() {
		return nil
	}
	if r == nil || r.rank == nil || i.kinds != kInt {
		return nil
	}
	if i.int != nil && f.nonnegative(i.int, fr) && f.nonnegative(r.rank.Sub(constant(1)).Sub(i.int), fr) {
		return nil
	}
	e := failf(n, expr.BadFormula, "nothing says that %s has an element of the number %s", f.source(of), f.source(at))
	e.Hint = fmt.Sprintf("test it: len(%s) > %s ? ... : ...", f.source(of), f.source(at))
	return e
}

// bounds infers the bounds of a slice. A bound that is left out is nil.
func (f *formula) bounds(s *expr.Slice, fr *frame) (lo, hi *poly, err *expr.Error) {
	for _, b := range []struct {
		n  expr.Node
		to **poly
	}{{s.Lo, &lo}, {s.Hi, &hi}} {
		if b.n == nil {
			continue
		}
		v, err := f.integer(b.n, fr)
		if err != nil {
			return nil, nil, err
		}
		*b.to = &v.int
	}
	return lo, hi, nil
}

// slicePart returns the part that a slice s selects, and records its bounds.
func (f *formula) slicePart(s *expr.Slice, fr *frame) (part, *expr.Error) {
	lo, hi, err := f.bounds(s, fr)
	p := part{fn: "["}
	if lo != nil {
		p.lo = (*lo).String()
	}
	if hi != nil {
		p.hi = (*hi).String()
	}
	f.cuts[p] = [2]*poly{lo, hi}
	return p, err
}

// boundPart returns the visible binding of exactly part p of an index, or nil.
func boundPart(fr *frame, name string, p part) *binding {
	for _, b := range fr.indices(name) {
		if b.part == p {
			return b
		}
	}
	return nil
}

// at returns element i of a run of dimensions as an atom, such as X[1]. It is at least 0.
func (f *formula) at(r *run, i poly) poly {
	if r == nil || i == nil {
		return nil
	}
	name := r.text + "[" + i.String() + "]"
	f.atomInfo(name).atLeast(0)
	f.atomInfo(name).list = r.text
	if f.sc != nil {
		if s, ok := f.sc.Lookup(r.text); ok && s.Class == expr.Attr {
			f.atomInfo(name).atLeast(s.Least)
		}
	}
	return atom(name)
}

// element returns the dimensions of tensor i of a variadic slot, where r is the list of the dimensions of all
// its tensors.
func (f *formula) element(r *run, i poly) *run {
	if r == nil || i == nil {
		return nil
	}
	return named(r.text + "[" + i.String() + "]")
}
