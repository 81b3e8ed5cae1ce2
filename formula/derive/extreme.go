package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Operands that tie for an extreme share its gradient evenly. So do operands that are NaN, since an extreme
// with a NaN operand is NaN. Ties are found by comparison, so both sides must have the same bits. An operand
// that two loops compute may be rounded in two ways, and would then equal nothing. So operands are compared
// as stored: in a tensor that exists, or in a temporary.

// extreme derives the gradients of the operands of max(a, b, ...) or min(a, b, ...). Operands that are
// constant with respect to trainable tensors get none. Operands that tie with a constant one get none
// either: the slope of max(x, 0) at 0 is 0.
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

// outdone returns the condition that an operand in fixed is at least as extreme as x, the only operand with a
// gradient. It compares fixed operands with the extreme n itself, so that x need not be saved. If a fixed
// operand is not exact in f16 or bf16, in which n may be stored, it compares them with x.
func (d *deriver) outdone(n, x *term.Term, fixed []*term.Term, vars []*term.Variable, guard *term.Term) *term.Term {
	var out *term.Term
	own := n
	for _, y := range fixed {
		if !d.exactIn(y, fewest) {
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

// shares returns the gradient of each operand in values of an extreme, which has gradient g. For more than
// two operands, temporaries hold the extreme and the number of operands that attain it.
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
			tie := term.Either(term.Compare(term.Equal, x, y), isnan(y)) // x shares if it is an extreme, too
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

// comparable returns x in a form with the same bits wherever it is computed. It stores x in a temporary
// unless x is exact; it cannot if the indices of x have no bounds.
func (d *deriver) comparable(x *term.Term, vars []*term.Variable, guard *term.Term) *term.Term {
	if d.exact(x) {
		d.store(x)
		return x
	}
	x, _ = d.keep("values", vars, guard, x, true)
	return x
}

// extremes derives the gradient of a max or min reduction n. fresh is a copy of n with fresh variables.
func (d *deriver) extremes(n, fresh, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	if done, err := d.running(n, fresh, g, vars, guard); done || err != nil {
		return err
	}
	r := fresh.Reduction
	inner := append(slices.Clone(vars), r.Vars...)
	within := term.All(guard, r.Guard)
	value := d.comparable(r.Body, inner, within)
	again := func(kind reduction.Kind, guard, body *term.Term) *term.Term {
		x := &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &term.Reduction{Kind: kind, Vars: r.Vars, Guard: term.All(r.Guard, guard),
			Body: body, Part: -1}}
		return x.Map(func(x *term.Term) *term.Term { return x }) // a copy with fresh variables
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

// Significant bits of numbers: of float32, in which loops compute, and the fewest of a type of elements.
const (
	computed = 24
	fewest   = term.FewestBits
)

// exact reports whether n has the same bits wherever it is computed: n is stored, or follows from exact
// values by operations that do not round.
func (d *deriver) exact(n *term.Term) bool { return d.exactIn(n, computed) }

// exactIn reports whether n is exact and has at most digits significant bits. Elements of tensors pass only
// for float32: temporaries and slots may have other types.
func (d *deriver) exactIn(n *term.Term, digits int) bool {
	each := func(terms []*term.Term) bool {
		return !slices.ContainsFunc(terms, func(x *term.Term) bool { return !d.exactIn(x, digits) })
	}
	switch n.Kind {
	case term.Integer: // floating-point numbers represent integers of this range exactly
		lo, hi, ok := spanOf(n)
		return ok && lo >= -1<<digits && hi <= 1<<digits
	case term.Boolean:
		return d.decided(n)
	}
	switch n.Op {
	case term.Constant:
		return float64(float32(n.Float)) == n.Float && (digits == computed || n.Short())
	case term.Element:
		r := n.Read
		return digits == computed && (r.Else == nil || d.exact(r.Else)) && (r.Which == nil || d.decided(r.Which)) &&
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

// decided reports whether an integer or a condition has the same value wherever it is computed, which holds
// if the real numbers that it compares are exact.
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

// store marks the tensors that x reads as stored, so that all readers see the same bits.
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

// given reports whether x reads a tensor that statements define. The backward pass may recompute such a
// tensor, with another rounding.
func (d *deriver) given(x *term.Term) bool {
	found := false
	x.Walk(func(m *term.Term) {
		for k := 0; m.Op == term.Element && k < m.Read.Count; k++ {
			found = found || d.p.Tensors[m.Read.Tensor+k].Given
		}
	})
	return found
}
