package derive

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// walk propagates gradient g of term n to the elements that n reads, by the chain rule. The gradient applies
// for all values of vars for which guard holds.
func (d *deriver) walk(n, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	if n.Kind != term.Real || !d.p.Depends(n) || g.IsZero() {
		return nil
	}
	g, err := d.short(g, vars, guard)
	if err != nil {
		return err
	}
	each := func(parts ...*term.Term) error {
		for i := 0; i < len(parts); i += 2 {
			if err := d.walk(parts[i], parts[i+1], vars, guard); err != nil {
				return err
			}
		}
		return nil
	}
	x, y := arg(n, 0), arg(n, 1)
	switch n.Op {
	case term.Element:
		return d.element(n.Read, g, vars, guard)
	case term.Add:
		return each(x, g, y, g)
	case term.Subtract:
		return each(x, g, y, term.Opposite(g))
	case term.Negate:
		return each(x, term.Opposite(g))
	case term.Multiply:
		return each(x, term.Product(g, y), y, term.Product(g, x))
	case term.Divide:
		// y*y may overflow or underflow where x/y does not.
		return each(x, term.Ratio(g, y), y, term.Opposite(term.Ratio(term.Product(g, term.Ratio(x, y)), y)))
	case term.Power:
		return d.apply(term.Pow, n, g, vars, guard)
	case term.Choose:
		if err := d.walk(y, g, vars, term.All(guard, x)); err != nil {
			return err
		}
		return d.walk(n.Args[2], g, vars, term.All(guard, term.Negated(x)))
	case term.Apply:
		return d.apply(n.Func, n, g, vars, guard)
	case term.Reduce:
		return d.reduction(n, g, vars, guard)
	}
	return fmt.Errorf("%s has no derivative", n)
}

func arg(n *term.Term, i int) *term.Term {
	if i < len(n.Args) {
		return n.Args[i]
	}
	return nil
}

// element records g as a contribution to the gradient of r. If r has a default, it propagates g to the
// default where r is out of bounds.
func (d *deriver) element(r *term.Read, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	inside := guard
	if r.Else != nil {
		var in []*term.Term
		for i, x := range r.Idx {
			if !atLeast(x, 0) {
				in = append(in, term.Compare(term.AtMost, term.Number(0), x))
			}
			if !exceeds(r.Ext[i], x, 1) {
				in = append(in, term.Compare(term.Less, x, r.Ext[i]))
			}
		}
		if r.Which != nil {
			in = append(in, term.Compare(term.AtMost, term.Number(0), r.Which), term.Compare(term.Less, r.Which, term.Number(r.Count)))
		}
		outside := term.Condition(false) // an element without indices is always in bounds
		if all := term.All(in...); all != nil {
			outside = opposite(all)
		}
		if holds, known := outside.Truth(); holds || !known {
			if err := d.walk(r.Else, g, vars, term.All(guard, outside)); err != nil {
				return err
			}
		}
		// gather derives these bounds again for indices that it solves for; a scatter needs them here.
		inside = term.All(append([]*term.Term{guard}, in...)...)
	}
	for k := range r.Count {
		if !d.p.Tensors[r.Tensor+k].Varies {
			continue
		}
		c := &contribution{read: r, vars: slices.Clone(vars), guard: inside, value: g}
		if r.Which != nil {
			c.guard = term.All(inside, term.Compare(term.Equal, r.Which, term.Number(k)))
		}
		d.found[r.Tensor+k] = append(d.found[r.Tensor+k], c)
		if err := d.grow(c.guard, c.value); err != nil {
			return err
		}
	}
	return nil
}

// opposite returns the negation of condition c. For a comparison of integers it is a comparison again, which
// sums can move into the range of an index.
func opposite(c *term.Term) *term.Term {
	if c.Op != term.Less && c.Op != term.AtMost || c.Args[0].Kind != term.Integer || c.Args[1].Kind != term.Integer {
		return term.Negated(c)
	}
	return term.Compare(map[term.Op]term.Op{term.Less: term.AtMost, term.AtMost: term.Less}[c.Op], c.Args[1], c.Args[0])
}

// apply propagates g through the application n of function f: the gradient of each operand is g times the
// partial derivative.
func (d *deriver) apply(f *term.Function, n, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	if f.Has(term.Extreme) {
		return d.extreme(n, g, vars, guard)
	}
	for i, x := range slices.Backward(n.Args) {
		if f.Derivative == nil || !d.p.Depends(x) {
			continue
		}
		if f.Has(term.Underivable) {
			return fmt.Errorf("the derivative of %s is none of the functions of formulas", f.Name)
		}
		if err := d.walk(x, term.Product(g, f.Derivative(i, n.Args, n)), vars, guard); err != nil {
			return err
		}
	}
	return nil
}

// reduction propagates the gradient g of reduction n to its body.
func (d *deriver) reduction(n, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	if n.Reduction.Detached {
		return nil
	}
	if rest, found := withoutCondition(guard, d.counts); found && !d.slopes.Steep(n) {
		// Move the mask into a stored seed: it is computed once for all elements of the reduction.
		g, guard = d.aside("slope", vars, term.Chosen(d.counts, g, term.Number(0))), rest
	}
	fresh := n.Map(func(x *term.Term) *term.Term { return x }) // a copy with fresh variables
	r := fresh.Reduction
	inner := append(slices.Clone(vars), r.Vars...)
	inside := term.All(guard, r.Guard)
	result := d.known(n)
	body := r.Body
	// The gradient of the body has, in place of an index that a condition tells, what tells it. A reduction
	// that uses this index would then be another one for each element of the body.
	if g.Reduces() && told(r, vars) {
		if guard != nil {
			g = term.Chosen(guard, g, term.RealNumber(0)) // elsewhere g may load out of bounds
		}
		g = d.aside("upstream", vars, g)
	}
	switch r.Kind {
	case reduction.Sum:
	case reduction.Mean:
		g = term.Ratio(g, d.count(n, vars))
	case reduction.LogSumExp:
		g = term.Product(g, term.Applied("exp", term.Difference(term.Difference(body, d.known(r.At[0])), result)))
	case reduction.Max, reduction.Min:
		return d.extremes(n, fresh, g, vars, guard)
	case reduction.Prod:
		counted, places := fromZero(r)
		for _, x := range d.others(counted, vars) {
			g = term.Product(g, d.aside("others", append(slices.Clone(vars), counted.Vars...), x).Substitute(places))
		}
	case reduction.Variance:
		mean := d.aside("mean", vars, &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: reduction.Mean, Vars: n.Reduction.Vars,
			Guard: n.Reduction.Guard, Body: n.Reduction.Body, Part: -1}})
		g = term.Ratio(term.Product(term.Product(term.Number(2), g), term.Difference(body, mean)), d.count(n, vars))
	default:
		return nil
	}
	return d.walk(body, g, inner, inside)
}

// told reports whether a condition on the elements of a reduction tells the value of one of vars: that of a
// segment, to which an element of a tensor assigns what is reduced.
func told(r *term.Reduction, vars []*term.Variable) bool {
	conditions := term.Conjuncts(r.Guard)
	for x := r.Body; x != nil && x.Op == term.Choose; x = x.Args[1] {
		conditions = append(conditions, term.Conjuncts(x.Args[0])...)
	}
	return slices.ContainsFunc(conditions, func(c *term.Term) bool {
		return slices.ContainsFunc(vars, func(v *term.Variable) bool {
			x := equals(c, v)
			return x != nil && x.Reads() && x.UsesAny(r.Vars)
		})
	})
}

// withoutCondition removes the conjunct part from guard, and reports whether guard has it.
func withoutCondition(guard, part *term.Term) (rest *term.Term, found bool) {
	var kept []*term.Term
	for _, c := range term.Conjuncts(guard) {
		if c == part {
			found = true
		} else {
			kept = append(kept, c)
		}
	}
	return term.All(kept...), found
}

// over returns a reduction of another kind with the indices and the guard of n. f maps the body of n to a
// further guard and the new body.
func (d *deriver) over(n *term.Term, kind reduction.Kind, f func(body *term.Term) (guard, x *term.Term)) *term.Term {
	fresh := n.Map(func(x *term.Term) *term.Term { return x })
	r := fresh.Reduction
	guard, x := f(r.Body)
	return &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: kind, Vars: r.Vars, Guard: term.All(r.Guard, guard), Body: x, Part: -1}}
}

// count returns the number of terms of reduction n: the product of extents, or a stored count if n has a
// guard.
func (d *deriver) count(n *term.Term, vars []*term.Variable) *term.Term {
	r := n.Reduction
	if r.Guard == nil {
		out := term.Number(1)
		for _, v := range r.Vars {
			if v.Lo.UsesAny(r.Vars) || v.Hi.UsesAny(r.Vars) {
				out = nil
				break
			}
			out = term.Product(out, extentOf(v))
		}
		if out != nil {
			return out
		}
	}
	return d.aside("count", vars, d.over(n, reduction.Sum, func(*term.Term) (*term.Term, *term.Term) { return nil, term.Number(1) }))
}

// longestWindow bounds the length of a range, where it depends on other indices, for which temporaries hold
// all elements of the longest range.
const longestWindow = 64

// fromZero returns a reduction that is equal to r and whose ranges begin at 0 and have constant ends, where
// possible. It rewrites a range with a constant length, and a short window with two moving ends: the index
// counts from the start of the window, and a condition cuts the window off. It leaves a range with one moving
// end, as in a running product, since loops compute its gradient as it is. places maps each new index to its
// value in terms of the old one.
func fromZero(r *term.Reduction) (counted *term.Reduction, places map[*term.Variable]*term.Term) {
	out, values := *r, map[*term.Variable]*term.Term{}
	places = map[*term.Variable]*term.Term{}
	var guards []*term.Term
	out.Vars = nil
	for _, v := range r.Vars {
		w := &term.Variable{Name: v.Name, Lo: v.Lo.Substitute(values), Hi: v.Hi.Substitute(values)}
		values[v], places[w] = w.Term(), v.Term()
		if !w.Lo.Is(0) || !w.Hi.Fixed() {
			length := term.Norm(extentOf(w))
			most, known := greatestLength(w.Lo, w.Hi)
			switch {
			case length.Fixed():
				values[v], places[w] = term.Sum(w.Term(), w.Lo), term.Difference(v.Term(), v.Lo)
				w.Lo, w.Hi = term.Number(0), length
			case !w.Lo.Fixed() && !w.Hi.Fixed() && known && most <= longestWindow:
				values[v], places[w] = term.Sum(w.Term(), w.Lo), term.Difference(v.Term(), v.Lo)
				guards = append(guards, term.Compare(term.Less, values[v], w.Hi))
				w.Lo, w.Hi = term.Number(0), term.Number(max(most, 0))
			}
		}
		out.Vars = append(out.Vars, w)
	}
	out.Body = r.Body.Substitute(values)
	if r.Guard != nil {
		guards = append(guards, r.Guard.Substitute(values))
	}
	out.Guard = term.All(guards...)
	return &out, places
}

// others returns factors whose product is the product of the body of r at all indices but the present one.
// For several indices v1..vk, factor i multiplies the values with another vi, equal v1..vi-1, and any
// vi+1..vk; a temporary holds the products over vi+1..vk. Each factor is then a scan over one index if its
// range is constant. A single product would take quadratic time.
func (d *deriver) others(r *term.Reduction, vars []*term.Variable) []*term.Term {
	var out []*term.Term
	product := func(vars []*term.Variable, guard, body *term.Term) *term.Term {
		return &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: r.Kind, Vars: vars, Guard: guard, Body: body, Part: -1}}
	}
	for i, own := range r.Vars {
		copied := product(r.Vars, r.Guard, r.Body).Map(func(x *term.Term) *term.Term { return x }).Reduction // with fresh variables
		other := copied.Vars[i]
		other.Name += "'"
		values, equal := map[*term.Variable]*term.Term{}, slices.Clone(vars)
		for j, v := range copied.Vars[:i] {
			values[v] = r.Vars[j].Term()
			equal = append(equal, r.Vars[j])
		}
		for _, v := range copied.Vars[i:] {
			v.Lo, v.Hi = v.Lo.Substitute(values), v.Hi.Substitute(values)
		}
		body, guard := copied.Body.Substitute(values), copied.Guard
		if guard != nil {
			guard = guard.Substitute(values)
		}
		if after := copied.Vars[i+1:]; len(after) > 0 {
			body, guard = d.aside("products", append(equal, other), product(after, guard, body)), nil
		}
		differs := term.Negated(term.Compare(term.Equal, other.Term(), own.Term()))
		out = append(out, product([]*term.Variable{other}, term.All(guard, differs), body))
	}
	return out
}

// aside stores a value of the backward pass in a temporary over those of vars that it depends on, and
// returns the temporary's element. If x depends on the quotient of an index by a constant, and not on the
// index otherwise, the temporary has an element for each quotient. It returns x itself if x is an element or
// a constant, or if the range of an index depends on another index.
func (d *deriver) aside(name string, vars []*term.Variable, x *term.Term) *term.Term {
	x = d.neat(x)
	if x.Op == term.Element || x.Op == term.Constant {
		return x
	}
	left, here := &term.Read{Count: 1}, &term.Read{Count: 1}
	values := map[*term.Variable]*term.Term{}
	var own []*term.Variable
	for _, v := range vars {
		if !x.Uses(v) && !exceeds(v.Lo, v.Hi, 0) {
			continue
		}
		if !v.Hi.Fixed() || !v.Lo.Is(0) {
			return x // the range depends on another index
		}
		w := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		at := v.Term()
		if q := quotientOf(x, v); q != nil && q.Args[0].Op == term.Index && positive(q.Args[1]) { // is the same for a block
			last := floored(term.Norm(term.Difference(v.Hi, term.Number(1))), q.Args[1])
			at, w.Hi = q, term.Norm(term.Sum(last, term.Number(1)))
			x = replacing(x, q, w.Term())
		}
		own = append(own, w)
		values[v] = w.Term()
		left.Idx, here.Idx = append(left.Idx, w.Term()), append(here.Idx, at)
		left.Ext = append(left.Ext, w.Hi)
	}
	left.Tensor = d.tensor(name, left.Ext)
	left.Text = d.p.Tensors[left.Tensor].Name
	here.Tensor, here.Ext, here.Text = left.Tensor, left.Ext, left.Text
	d.emit(&program.Statement{Target: left.Tensor, Left: left, Vars: own, Value: x.Substitute(values)})
	return &term.Term{Op: term.Element, Kind: term.Real, Read: here}
}

// known returns the element of a forward tensor whose value is n, if there is one, else n itself.
func (d *deriver) known(n *term.Term) *term.Term { return d.p.Recognized(n) }
