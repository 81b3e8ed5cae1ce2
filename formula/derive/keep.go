package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// axisOf is an axis of a temporary. It stores the value at index i at offset i - first.
type axisOf struct {
	of     *term.Variable
	first  *term.Term // start of the axis's index, an expression of outer indices; 0 for most
	extent *term.Term
}

// keep stores x in a temporary over those of vars that x depends on, and returns the temporary's element. It
// returns x itself and false if an index has no bounds. Readers use values only where condition needed holds.
// Elsewhere the temporary holds 0, or any number if needed depends on further variables; its loads stay in
// bounds everywhere. If fresh is set, keep does not reuse a tensor of the forward program with the same
// value.
func (d *deriver) keep(name string, vars []*term.Variable, needed, x *term.Term, fresh bool) (kept *term.Term, ok bool) {
	if x = trim(tidy(x)); !fresh {
		x = d.neat(x)
	}
	if x.Op == term.Constant || x.Op == term.Element && !fresh {
		return x, true
	}
	var own []*term.Variable // those of vars that x depends on, and those over nothing, where no element may be read
	for _, v := range vars {
		if x.Uses(v) || exceeds(v.Lo, v.Hi, 0) {
			own = append(own, v)
		}
	}
	left, here := &term.Read{Count: 1, Idx: []*term.Term{}}, &term.Read{Count: 1, Idx: []*term.Term{}}
	values := map[*term.Variable]*term.Term{}
	var within []*term.Term // conditions that indices are in their ranges
	var loops []*term.Variable
	for i, v := range own {
		a := axisFor(v, own[:i], x)
		if a == nil {
			return x, false
		}
		w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: a.extent}
		loops = append(loops, w)
		left.Idx, left.Ext = append(left.Idx, w.Term()), append(left.Ext, a.extent)
		here.Idx = append(here.Idx, term.Norm(term.Difference(v.Term(), a.first)))
		values[v] = term.Norm(term.Sum(w.Term(), a.first.Substitute(values)))
		if !v.Lo.Is(0) || !term.SameInteger(v.Hi, a.extent) {
			within = append(append(within, bounds(term.AtMost, v.Lo, v.Term())...), bounds(term.Less, v.Term(), v.Hi)...)
		}
	}
	var conditions []*term.Term
	partly := false // some conditions are left out, so the value is speculative
	for _, c := range append(within, term.Conjuncts(needed)...) {
		if slices.ContainsFunc(c.Free(), func(v *term.Variable) bool { return !slices.Contains(own, v) }) {
			partly = true
		} else {
			conditions = append(conditions, c)
		}
	}
	value := x.Substitute(values)
	guard := implied(term.All(conditions...).Substitute(values))
	if partly {
		value, guard = total(value), total(guard)
	}
	if guard != nil {
		value = term.Chosen(guard, value, nothing(x.Kind))
	}
	left.Tensor = d.tensor(name, left.Ext)
	d.p.Tensors[left.Tensor].Stored = true
	left.Text = d.p.Tensors[left.Tensor].Name
	here.Tensor, here.Ext, here.Text = left.Tensor, left.Ext, left.Text
	d.emit(&program.Statement{Target: left.Tensor, Left: left, Vars: loops, Value: value})
	return &term.Term{Op: term.Element, Kind: term.Real, Read: here}, true
}

// axisFor returns the shortest axis that holds all values of v in x. The axis starts at the lower bound of
// v, as an expression of others, if that makes it shorter. It returns nil if v has no bounds.
func axisFor(v *term.Variable, others []*term.Variable, x *term.Term) *axisOf {
	if v.Hi.Fixed() && v.Lo.Is(0) {
		return &axisOf{v, term.Number(0), v.Hi}
	}
	var best *axisOf
	size := 0
	if lo, hi, ok := spanOf(v.Term()); ok {
		best, size = &axisOf{v, term.Number(lo), largest(v.Hi, hi+1, lo)}, hi+1-lo
	}
	for _, lo := range term.Operands(v.Lo, term.Max) {
		for _, hi := range term.Operands(v.Hi, term.Min) {
			n := term.Norm(term.Difference(hi, lo))
			least, most, ok := spanOf(n)
			if least < 0 && term.Share(lo, hi) { // where one end wraps around, the range may be longer
				continue
			}
			if ok && (best == nil || most < size) && !slices.ContainsFunc(lo.Free(), func(w *term.Variable) bool { return !slices.Contains(others, w) }) {
				best, size = &axisOf{v, lo, largest(n, most, 0)}, most
			}
		}
	}
	if best != nil {
		return best
	}
	x.Walk(func(m *term.Term) { // a subscript of an unconditional read is within the extent
		for i := 0; m.Op == term.Element && m.Read.Else == nil && !m.Read.ByNumber && best == nil && i < len(m.Read.Idx); i++ {
			if m.Read.Idx[i].Op == term.Index && m.Read.Idx[i].Var == v {
				best = &axisOf{v, term.Number(0), m.Read.Ext[i]}
			}
		}
	})
	return best
}

// deepest bounds the depth at which ranges of indices depend on other indices.
const deepest = 64

// largest returns the extent n - lo of an axis, where hi is the greatest value of n. The extent keeps its
// symbols if n reaches hi at the last values of all its indices.
func largest(n *term.Term, hi, lo int) *term.Term {
	for range deepest {
		free := n.Free()
		if len(free) == 0 {
			break
		}
		v := free[0]
		n = term.Norm(n.Substitute(map[*term.Variable]*term.Term{v: term.Difference(v.Hi, term.Number(1))}))
	}
	if got, known := n.Known(); known && got == hi && hi > lo {
		return term.Norm(term.Difference(n, term.Number(lo)))
	}
	return term.Number(max(hi-lo, 0))
}

// total returns n with the default 0 for each load that may be out of bounds, so that n can be evaluated
// speculatively.
func total(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	out := n.Map(total)
	if out.Op == term.Element && out.Read.Else == nil && !inside(out.Read) {
		r := *out.Read
		r.Else = nothing(out.Kind)
		return &term.Term{Op: term.Element, Kind: out.Kind, Read: &r}
	}
	return out
}

// nothing returns the zero value of a kind: 0 or false.
func nothing(k term.Kind) *term.Term {
	switch k {
	case term.Boolean:
		return term.Condition(false)
	case term.Real:
		return term.RealNumber(0)
	}
	return term.Number(0)
}
