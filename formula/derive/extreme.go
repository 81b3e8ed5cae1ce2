package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Equal extremes share the gradient evenly, and so do operands that are NaN, which an extreme is if one of
// its operands is. What is equal is found by comparing, so both sides must be the same number: an operand
// that is worked out twice, by two loops, may be rounded in two ways, and then would equal nothing. So
// operands are compared where they are stored: in a tensor, or in one that they get.

// extreme is the derivative of the larger or smallest of some numbers. Operands that do not vary get nothing,
// and those that are equal to one of them get nothing either: max(x, 0) has the slope 0 at 0.
func (d *deriver) extreme(n, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	var varying, fixed []*term.Term
	for _, x := range term.Operands(n, n.Func) {
		if d.p.Depends(x) {
			varying = append(varying, x)
		} else {
			fixed = append(fixed, x)
		}
	}
	if len(varying) == 1 {
		return d.walk(varying[0], term.Chosen(d.outdone(n, varying[0], fixed, vars, guard), term.Number(0), g), vars, guard)
	}
	values := make([]*term.Term, len(varying))
	for i, x := range varying {
		values[i] = d.comparable(x, vars, guard)
	}
	shares := d.shares(n.Func, g, values, fixed, vars, guard)
	for i, x := range varying {
		if err := d.walk(x, shares[i], vars, guard); err != nil {
			return err
		}
	}
	return nil
}

// outdone returns the condition under which an extreme is not its one operand that varies: one of the others
// is as large or as small. The extreme stands for the operand, which need not be kept then, where the others
// are the same numbers wherever they are worked out.
func (d *deriver) outdone(n, x *term.Term, fixed []*term.Term, vars []*term.Variable, guard *term.Term) *term.Term {
	var out *term.Term
	own := n
	for _, y := range fixed {
		if y.Op != term.Constant && !d.exact(y) {
			own = x
		}
	}
	for _, y := range fixed {
		c := term.Compare(term.AtMost, own, y)
		if n.Func == term.Min {
			c = term.Compare(term.AtMost, y, own)
		}
		if y.Op != term.Constant {
			c = term.Either(c, term.Applied("isnan", y))
		}
		if out == nil {
			out = c
		} else {
			out = term.Either(out, c)
		}
	}
	return out
}

// shares returns the gradients of the operands of an extreme. That of more than two, and how many are equal
// to it, are worked out once.
func (d *deriver) shares(f *term.Function, g *term.Term, values, fixed []*term.Term, vars []*term.Variable, guard *term.Term) []*term.Term {
	zero := term.Number(0)
	isnan := func(x *term.Term) *term.Term { return term.Applied("isnan", x) }
	if len(values) == 2 && len(fixed) == 0 {
		half := term.Ratio(g, term.Number(2))
		share := func(x, y *term.Term) *term.Term {
			reaches := term.Compare(term.AtMost, y, x)
			if f == term.Min {
				reaches = term.Compare(term.AtMost, x, y)
			}
			tie := term.Either(term.Compare(term.Equal, x, y), isnan(y)) // if x is an extreme, too
			return term.Chosen(term.Either(reaches, isnan(x)), term.Chosen(tie, half, g), zero)
		}
		return []*term.Term{share(values[0], values[1]), share(values[1], values[0])}
	}
	all := slices.Concat(values, fixed)
	top := all[0]
	for _, x := range all[1:] {
		top = &term.Term{Op: term.Apply, Kind: term.Real, Func: f, Args: []*term.Term{top, x}}
	}
	top, _ = d.keep("extreme", vars, guard, top, true)
	is := func(x *term.Term) *term.Term {
		if x.Op == term.Constant {
			return term.Compare(term.Equal, x, top)
		}
		return term.Either(term.Compare(term.Equal, x, top), isnan(x))
	}
	n := zero
	for _, x := range values {
		n = term.Sum(n, term.Chosen(is(x), term.Number(1), zero))
	}
	n, _ = d.keep("ties", vars, guard, n, false)
	var other *term.Term
	for _, y := range fixed {
		if other == nil {
			other = is(y)
		} else {
			other = term.Either(other, is(y))
		}
	}
	out := make([]*term.Term, len(values))
	for i, x := range values {
		c := is(x)
		if other != nil {
			c = term.Both(term.Negated(other), c)
		}
		out[i] = term.Chosen(c, term.Ratio(g, n), zero)
	}
	return out
}

// comparable returns a value in a form that is the same number wherever it is worked out: it gets a tensor of
// its own unless it is such a value, or its indices have no bounds.
func (d *deriver) comparable(x *term.Term, vars []*term.Variable, guard *term.Term) *term.Term {
	if d.exact(x) {
		d.store(x)
		return x
	}
	x, _ = d.keep("values", vars, guard, x, true)
	return x
}

// extremes is the derivative of a maximum or a minimum over indices, of which fresh has variables of its own.
func (d *deriver) extremes(n, fresh, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	r := fresh.Reduction
	inner := append(slices.Clone(vars), r.Vars...)
	within := term.All(guard, r.Guard)
	value := d.comparable(r.Body, inner, within)
	again := func(kind reduction.Kind, guard, body *term.Term) *term.Term {
		x := &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &term.Reduction{Kind: kind, Vars: r.Vars, Guard: term.All(r.Guard, guard),
			Body: body, Part: -1}}
		return x.Map(func(x *term.Term) *term.Term { return x }) // with variables of its own
	}
	result := d.known(n)
	switch {
	case value != r.Body || d.given(value):
		result, _ = d.keep("extreme", vars, guard, again(r.Kind, nil, value), true)
	case result.Op != term.Element:
		result, _ = d.keep("extreme", vars, guard, again(r.Kind, nil, value), false)
	}
	is := term.Either(term.Compare(term.Equal, value, result), term.Applied("isnan", value))
	ties, _ := d.keep("ties", vars, guard, again(reduction.Sum, is, term.Number(1)), false)
	return d.walk(r.Body, term.Ratio(g, ties), inner, term.All(within, is))
}

// exact reports whether a real number is the same wherever it is worked out: it is stored, or follows from
// numbers that are by operations that do not round.
func (d *deriver) exact(n *term.Term) bool {
	each := func(terms []*term.Term) bool {
		return !slices.ContainsFunc(terms, func(x *term.Term) bool { return !d.exact(x) })
	}
	switch n.Kind {
	case term.Integer: // float32 holds these integers
		lo, hi, ok := spanOf(n)
		return ok && lo >= -1<<24 && hi <= 1<<24
	case term.Boolean:
		return d.decided(n)
	}
	switch n.Op {
	case term.Constant:
		return float64(float32(n.Float)) == n.Float
	case term.Element:
		r := n.Read
		return (r.Else == nil || d.exact(r.Else)) && (r.Which == nil || d.decided(r.Which)) &&
			!slices.ContainsFunc(r.Idx, func(i *term.Term) bool { return !d.decided(i) })
	case term.Negate:
		return each(n.Args)
	case term.Choose:
		return d.decided(n.Args[0]) && each(n.Args[1:])
	case term.Apply:
		return n.Func.Has(term.Exact) && each(n.Args)
	}
	return false
}

// decided reports whether an integer or a condition is the same wherever it is worked out: so are the numbers
// that are compared in it.
func (d *deriver) decided(n *term.Term) bool {
	switch n.Op {
	case term.Reduce:
		return false
	case term.Element:
		r := n.Read
		return (r.Else == nil || d.decided(r.Else)) && (r.Which == nil || d.decided(r.Which)) &&
			!slices.ContainsFunc(r.Idx, func(i *term.Term) bool { return !d.decided(i) })
	}
	return !slices.ContainsFunc(n.Args, func(x *term.Term) bool {
		if x.Kind == term.Real {
			return !d.exact(x)
		}
		return !d.decided(x)
	})
}

// store makes sure that the tensors that a value reads are stored, so that their elements are the same for
// all that read them.
func (d *deriver) store(x *term.Term) {
	x.Walk(func(m *term.Term) {
		for k := 0; m.Op == term.Element && k < m.Read.Count; k++ {
			if l := *d.p.Tensors[m.Read.Tensor+k]; l.Given && !l.Stored {
				l.Stored = true
				d.p.Tensors[m.Read.Tensor+k] = &l
			}
		}
	})
}

// given reports whether a value reads tensors that statements give. Backward may work these out again.
func (d *deriver) given(x *term.Term) bool {
	found := false
	x.Walk(func(m *term.Term) {
		for k := 0; m.Op == term.Element && k < m.Read.Count; k++ {
			found = found || d.p.Tensors[m.Read.Tensor+k].Given
		}
	})
	return found
}
