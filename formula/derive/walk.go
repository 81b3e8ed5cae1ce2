package derive

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// walk hands the gradient g of a value on to the elements that the value reads.
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
		// The square of a divisor may overflow, or be 0, where the quotient is neither.
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

// element adds a contribution to the gradient of an element, or hands it on to the value in its place.
func (d *deriver) element(r *term.Read, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	inside := guard
	if r.Else != nil {
		var in []*term.Term
		for i, x := range r.Idx {
			in = append(in, term.Compare(term.AtMost, term.Number(0), x), term.Compare(term.Less, x, r.Ext[i]))
		}
		if r.Which != nil {
			in = append(in, term.Compare(term.AtMost, term.Number(0), r.Which), term.Compare(term.Less, r.Which, term.Number(r.Count)))
		}
		outside := term.Condition(false) // an element without indices is there
		if all := term.All(in...); all != nil {
			outside = term.Negated(all)
		}
		if holds, known := outside.Truth(); holds || !known {
			if err := d.walk(r.Else, g, vars, term.All(guard, outside)); err != nil {
				return err
			}
		}
		// An index that is not looked up gets these conditions again when it is solved for.
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

// apply is the derivative of n, which a function gives.
func (d *deriver) apply(f *term.Function, n, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	if f.Has(term.Extreme) {
		return d.extreme(n, g, vars, guard)
	}
	for i, x := range slices.Backward(n.Args) {
		if f.Derivative == nil || !d.p.Depends(x) {
			continue
		}
		if err := d.walk(x, term.Product(g, f.Derivative(i, n.Args, n)), vars, guard); err != nil {
			return err
		}
	}
	return nil
}

// reduction is the derivative of a reduction.
func (d *deriver) reduction(n, g *term.Term, vars []*term.Variable, guard *term.Term) error {
	if n.Reduction.Detached {
		return nil
	}
	if rest, found := withoutCondition(guard, d.counts); found && !d.slopes.Steep(n) {
		// The condition is part of the gradient of the reduction, which is worked out once for all its
		// elements.
		g, guard = d.aside("slope", vars, term.Chosen(d.counts, g, term.Number(0))), rest
	}
	fresh := n.Map(func(x *term.Term) *term.Term { return x }) // with variables of its own
	r := fresh.Reduction
	inner := append(slices.Clone(vars), r.Vars...)
	inside := term.All(guard, r.Guard)
	result := d.known(n)
	body := r.Body
	switch r.Kind {
	case reduction.Sum:
	case reduction.Mean:
		g = term.Ratio(g, d.count(n, vars))
	case reduction.LogSumExp:
		g = term.Product(g, term.Applied("exp", term.Difference(term.Difference(body, d.known(r.At[0])), result)))
	case reduction.Max, reduction.Min:
		return d.extremes(n, fresh, g, vars, guard)
	case reduction.Prod:
		for _, x := range d.others(fresh, vars) {
			g = term.Product(g, d.aside("others", inner, x))
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

// withoutCondition returns a condition without a part of it, and whether it has that part.
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

// over returns a reduction over the indices of another, of what f makes of its body.
func (d *deriver) over(n *term.Term, kind reduction.Kind, f func(body *term.Term) (guard, x *term.Term)) *term.Term {
	fresh := n.Map(func(x *term.Term) *term.Term { return x })
	r := fresh.Reduction
	guard, x := f(r.Body)
	return &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: kind, Vars: r.Vars, Guard: term.All(r.Guard, guard), Body: x, Part: -1}}
}

// count returns over how many indices a reduction goes.
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

// others returns factors of the product of the values of a reduction at all other indices than that of n. For
// several indices there is a factor for each: of values with another value of the index, equal ones of those
// before it, and any of those after it. The products over these are in a tensor of their own. So every factor
// is a scan, where one product would take quadratic time.
func (d *deriver) others(n *term.Term, vars []*term.Variable) []*term.Term {
	r := n.Reduction
	if slices.ContainsFunc(r.Vars, func(v *term.Variable) bool { return !v.Hi.Fixed() || !v.Lo.Is(0) }) {
		return []*term.Term{d.anyOther(n)}
	}
	var out []*term.Term
	product := func(vars []*term.Variable, guard, body *term.Term) *term.Term {
		return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &term.Reduction{Kind: r.Kind, Vars: vars, Guard: guard, Body: body, Part: -1}}
	}
	for i, own := range r.Vars {
		copied := n.Map(func(x *term.Term) *term.Term { return x }).Reduction // with variables of its own
		other := copied.Vars[i]
		other.Name += "'"
		values, equal := map[*term.Variable]*term.Term{}, slices.Clone(vars)
		for j, v := range copied.Vars[:i] {
			values[v] = r.Vars[j].Term()
			equal = append(equal, r.Vars[j])
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

// anyOther returns the product of the values of a reduction at all other indices than that of n.
func (d *deriver) anyOther(n *term.Term) *term.Term {
	copied := n.Map(func(x *term.Term) *term.Term { return x })
	r := copied.Reduction
	var same []*term.Term
	for i, v := range r.Vars {
		w := n.Reduction.Vars[i]
		v.Name += "'"
		same = append(same, term.Compare(term.Equal, v.Term(), w.Term()))
	}
	r.Guard = term.All(r.Guard, term.Negated(term.All(same...)))
	return copied
}

// aside gives a value that gradients use a tensor of its own, over those of vars that it depends on.
func (d *deriver) aside(name string, vars []*term.Variable, x *term.Term) *term.Term {
	x = d.neat(x)
	if x.Op == term.Element || x.Op == term.Constant {
		return x
	}
	left, here := &term.Read{Count: 1}, &term.Read{Count: 1}
	values := map[*term.Variable]*term.Term{}
	var own []*term.Variable
	for _, v := range vars {
		if !x.Uses(v) {
			continue
		}
		if !v.Hi.Fixed() || !v.Lo.Is(0) {
			return x // the ranges of its indices depend on others
		}
		w := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		own = append(own, w)
		values[v] = w.Term()
		left.Idx, here.Idx = append(left.Idx, w.Term()), append(here.Idx, v.Term())
		left.Ext = append(left.Ext, v.Hi)
	}
	left.Tensor = d.tensor(name, left.Ext)
	left.Text = d.p.Tensors[left.Tensor].Name
	here.Tensor, here.Ext, here.Text = left.Tensor, left.Ext, left.Text
	d.emit(&program.Statement{Target: left.Tensor, Left: left, Vars: own, Value: x.Substitute(values)})
	return &term.Term{Op: term.Element, Kind: term.Real, Read: here}
}

// known returns a value as the element that holds it, where a statement of the program gives it.
func (d *deriver) known(n *term.Term) *term.Term { return d.p.Recognized(n) }
