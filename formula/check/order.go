package check

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// ordered checks an order, such as argsort(k: x[k])[i], and the subscript behind it. in is the scope with the
// indices that are sorted.
func (f *formula) ordered(n *expr.Reduce, in, fr *frame) (value, *expr.Error) {
	for _, b := range n.Binders {
		if b.Lo != nil {
			e := failf(b, expr.BadFormula, "%s goes over all of a dimension, so %s has no range of its own", n.Kind, binderName(b))
			e.Hint = "give what does not count a key that is greater than the others"
			return value{}, e
		}
	}
	elems := orderShape(in)
	t := &tensor{name: "the order", elems: elems, known: true}
	if n.Kind == reduction.ArgSort {
		t.elems = []elem{{n: sizeOf(elems)}}
	}
	items, err := f.items(n.At, fr)
	if err != nil {
		return value{}, err
	}
	if err := f.form(n, t, items, t.elems); err != nil {
		return value{}, err
	}
	if err := f.inside(n, t, items, t.elems, fr); err != nil {
		return value{}, err
	}
	size := sizeOf(elems)
	if size == nil {
		return value{kinds: kInt}, nil
	}
	name := f.unique(n, fr)
	f.atomInfo(name).extent = below(size)
	return value{kinds: kInt, int: atom(name)}, nil
}

// orderShape returns the ranges of the sorted indices as a shape.
func orderShape(in *frame) []elem {
	var out []elem
	for _, b := range in.bound {
		switch {
		case b.run != nil:
			out = append(out, elem{rest: true, run: b.run})
		case len(b.his) == 1:
			out = append(out, elem{n: b.his[0]})
		default:
			out = append(out, elem{})
		}
	}
	return out
}

// placeIn returns the range of the results of an argsort or a rank that a statement assigns to a tensor: 0 to
// the number of sorted elements. It returns nil if that is unknown.
func (f *formula) placeIn(r *expr.Reduce, fr *frame) *extent {
	in := &frame{outer: fr}
	for _, b := range r.Binders {
		if f.binder(b, in) != nil {
			return nil
		}
	}
	size := sizeOf(orderShape(in))
	if size == nil {
		return nil
	}
	return lasting(*below(size))
}
