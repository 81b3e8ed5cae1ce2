package derive

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// run is a running extreme, such as max(k' in 0 .. k + 1: x[k']): an extreme for each value of the index at,
// of elements to which a step of at adds one. At the first step of the run, at has the value first.
type run struct {
	of     *term.Reduction
	at     *term.Variable
	value  *term.Term     // the body, in a form with the same bits wherever it is computed
	only   *term.Term     // the condition of elements, or nil
	over   *term.Variable // the index of elements, whose range is that of all of them
	last   *term.Term     // the element that the step to at adds, if it is within bounds
	enters *term.Term     // the value of at from which on the element over is in the run
	lo, hi *term.Term     // the range of the elements at the first step
	length *term.Term     // the number of elements, or a negative number if there are none
	single bool           // whether these are the element that the first step adds, or none
	step   int            // from one value of at to the next of the run: 1, or -1 where the run goes downward

	needed  *term.Term // the condition of elements in the statement, or nil
	extreme *term.Term // of the elements at the index
	count   *term.Term // the number of elements that attain it, or nil
}

// runOf returns the running extreme r of a statement over vars, or nil if r has another form: if the moving
// end of its range is not the index plus a constant, cut off where the elements end.
func runOf(r *term.Reduction, vars []*term.Variable) *run {
	s := r.Scan()
	if s == nil || s.Where == term.Others || !slices.Contains(vars, s.Present) || !s.Present.Lo.Is(0) || !s.Present.Hi.Fixed() || !occupied(s.Present) {
		return nil
	}
	end, cut, f := s.Hi, term.Least, term.Min
	if s.Where == term.After {
		end, cut, f = s.Lo, term.Greatest, term.Max
	}
	var moving, fixed *term.Term
	for _, x := range term.Operands(end, f) {
		switch {
		case !x.Uses(s.Present) && fixed == nil:
			fixed = x
		case !x.Uses(s.Present):
			fixed = cut(fixed, x)
		case moving == nil:
			moving = x
		default:
			return nil
		}
	}
	factor, ahead, linear := term.Linear(moving, s.Present)
	if !linear || !factor.Is(1) || !ahead.Fixed() || fixed != nil && !fixed.Fixed() {
		return nil
	}
	at, one := s.Present.Term(), term.Number(1)
	final := term.Norm(term.Difference(s.Present.Hi, one)) // value of the index
	moved := func(p *term.Term) *term.Term {
		x := term.Norm(term.Sum(p, ahead))
		if fixed != nil {
			x = cut(x, fixed)
		}
		return x
	}
	out := &run{of: r, at: s.Present, only: s.Guard, over: &term.Variable{Name: s.Over.Name, Lo: s.Lo, Hi: moved(final)}, step: 1,
		last: term.Norm(term.Difference(term.Sum(at, ahead), one)), lo: s.Lo, hi: moved(term.Number(0)), length: term.Norm(term.Difference(moved(at), s.Lo))}
	if out.enters = term.Norm(term.Sum(term.Difference(out.over.Term(), ahead), one)); !atLeast(out.enters, 0) {
		out.enters = term.Greatest(term.Number(0), out.enters)
	}
	out.single = exceeds(term.Sum(s.Lo, one), ahead, 0)
	if s.Where == term.After {
		out.single = exceeds(term.Norm(term.Sum(term.Sum(final, ahead), one)), s.Hi, 0)
		out.over.Lo, out.over.Hi, out.step = moved(term.Number(0)), s.Hi, -1
		out.last, out.lo, out.hi, out.length = term.Norm(term.Sum(at, ahead)), moved(final), s.Hi, term.Norm(term.Difference(s.Hi, moved(at)))
		if out.enters = term.Norm(term.Difference(out.over.Term(), ahead)); !exceeds(final, out.enters, 0) {
			out.enters = term.Least(final, out.enters)
		}
	}
	if !out.over.Lo.Fixed() || !out.over.Hi.Fixed() {
		return nil
	}
	over := map[*term.Variable]*term.Term{s.Over: out.over.Term()}
	out.value, out.only = r.Body.Substitute(over), out.only.Substitute(over)
	return out
}

// first returns the value of the index at the first step.
func (r *run) first() *term.Term {
	if r.step > 0 {
		return term.Number(0)
	}
	return term.Norm(term.Difference(r.at.Hi, term.Number(1)))
}

// begins and ends return the conditions that the index is at the first and at the last step.
func (r *run) begins() *term.Term { return r.outermost(r.step > 0) }

func (r *run) ends() *term.Term { return r.outermost(r.step < 0) }

// outermost returns the condition that the index has its least value, or its greatest one.
func (r *run) outermost(least bool) *term.Term {
	if least {
		return term.Compare(term.Less, r.at.Term(), term.Number(1))
	}
	return term.Compare(term.AtMost, term.Norm(term.Difference(r.at.Hi, term.Number(1))), r.at.Term())
}

// branches returns reductions whose results, joined, are the result of r: one for each branch of its body,
// where conditions on indices choose a branch.
func branches(r *term.Reduction) []*term.Reduction {
	if c := r.Body; c != nil && c.Op == term.Choose && !c.Args[0].Reads() && !c.Args[0].Reduces() {
		yes, no := *r, *r
		yes.Guard, yes.Body = term.All(r.Guard, c.Args[0]), c.Args[1]
		no.Guard, no.Body = term.All(r.Guard, opposite(c.Args[0])), c.Args[2]
		return slices.Concat(branches(&yes), branches(&no))
	}
	return []*term.Reduction{r}
}

// runsOf returns the running extremes of which the max or min reduction r is the extreme: one for each
// branch of its body. It returns nil if r has another form.
func runsOf(r *term.Reduction, vars []*term.Variable) (runs []*run) {
	for _, part := range branches(r) {
		x := runOf(part, vars)
		if x == nil || len(runs) > 0 && x.at != runs[0].at {
			return nil
		}
		runs = append(runs, x)
	}
	return runs
}

// running derives the gradient of a max or min reduction by recurrences along the index of the results, if
// it is a running extreme. A result has the operands that tie of the result before, if that is the same
// number, and the element that its step adds. In the other direction, an element has the gradients of
// results up to the one that is another number. The derivation takes time that is linear in the number of
// elements, where a sum over the operands of each result takes quadratic time. done is false if the
// reduction has another form.
func (d *deriver) running(n, fresh, g *term.Term, vars []*term.Variable, guard *term.Term) (done bool, err error) {
	if d.within {
		return false, nil // a recurrence within a recurrence
	}
	runs := runsOf(fresh.Reduction, vars)
	if runs == nil {
		return false, nil
	}
	at := runs[0].at
	if slices.ContainsFunc(vars, func(v *term.Variable) bool { return !v.Lo.Fixed() || !v.Hi.Fixed() }) {
		return false, nil
	}
	var always []*term.Term // conditions that hold for a whole run
	partly := false
	for _, c := range term.Conjuncts(guard) {
		if c.Uses(at) {
			partly = true
		} else {
			always = append(always, c)
		}
	}
	for _, r := range runs {
		if partly && !inBounds(r.value) { // the whole run may have elements that no result needs
			return false, nil
		}
	}
	from := len(d.out.Statements)
	var top, ties *term.Term
	bodies := make([]*term.Term, len(runs))
	for i, r := range runs {
		bodies[i], r.needed = r.value, term.All(append(slices.Clone(always), r.only)...)
		d.extremeOf(r, n, vars, term.All(always...), len(runs) == 1 && !partly)
		if top == nil {
			top = r.extreme
		} else {
			top = &term.Term{Op: term.Apply, Kind: term.Real, Func: joinOf(n), Args: []*term.Term{top, r.extreme}}
		}
	}
	for _, r := range runs {
		count := r.count
		if count == nil {
			count = d.tied(r, vars)
		}
		if len(runs) > 1 {
			count = term.Chosen(attains(r.extreme, top), count, term.Number(0))
		}
		if ties == nil {
			ties = count
		} else {
			ties = term.Sum(ties, count)
		}
	}
	var sums []*term.Term
	for i, r := range runs {
		if !d.p.Depends(bodies[i]) {
			sums = append(sums, nil)
			continue
		}
		seed := term.Ratio(g, ties)
		if guard != nil {
			seed = term.Chosen(guard, seed, term.RealNumber(0))
		}
		if len(runs) > 1 {
			seed = term.Chosen(attains(r.extreme, top), seed, term.RealNumber(0))
		}
		seed, _ = d.keep("share", vars, nil, seed, false)
		sums = append(sums, d.accumulated("shares", r, r.step, r.ends(), seed, seed, vars))
	}
	ordered, err := program.Ordered(d.out.Statements[from:])
	if err != nil {
		return false, fmt.Errorf("the gradient of a running extreme: %w", err)
	}
	d.out.Statements = append(d.out.Statements[:from], ordered...)
	for i, r := range runs {
		if sums[i] == nil {
			continue
		}
		entered := map[*term.Variable]*term.Term{at: r.enters}
		is := attains(r.value, r.extreme.Substitute(entered))
		if err := d.walk(bodies[i], sums[i].Substitute(entered), r.elements(vars), term.All(r.needed, is)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// extremeOf sets the extreme of a run, and its value in a form that can be compared with it. known says that
// reduction n is the extreme, which a tensor may have. Where all elements are the same, it sets their
// number, too.
func (d *deriver) extremeOf(r *run, n *term.Term, vars []*term.Variable, always *term.Term, known bool) {
	body := r.value
	r.value = d.comparable(body, r.elements(vars), r.needed)
	if r.only == nil && !r.value.Uses(r.over) && !known {
		r.count = term.Greatest(term.Number(0), r.length)
		r.extreme = term.Chosen(term.Compare(term.Less, term.Number(0), r.length), r.value, term.RealNumber(r.of.Kind.Identity()))
		return
	}
	if r.extreme = d.known(n); known && r.extreme.Op == term.Element && r.value == body && !d.given(body) {
		return
	}
	lo, hi := r.over.Lo, term.Least(term.Norm(term.Sum(r.last, term.Number(1))), r.over.Hi)
	if r.step < 0 {
		lo, hi = term.Greatest(r.last, r.over.Lo), r.over.Hi
	}
	v := &term.Variable{Name: r.over.Name, Lo: lo, Hi: hi}
	to := map[*term.Variable]*term.Term{r.over: v.Term()}
	again := &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &term.Reduction{Kind: r.of.Kind, Vars: []*term.Variable{v},
		Guard: r.only.Substitute(to), Body: r.value.Substitute(to), Part: -1}}
	r.extreme, _ = d.keep("extreme", vars, always, again, true)
}

// elements returns the indices of vars, with that of the elements in place of that of the results.
func (r *run) elements(vars []*term.Variable) []*term.Variable {
	return append(slices.DeleteFunc(slices.Clone(vars), func(v *term.Variable) bool { return v == r.at }), r.over)
}

// joinOf returns the function that joins two results of an extreme.
func joinOf(n *term.Term) *term.Function {
	_, f := term.JoinOf(n.Reduction.Kind)
	return f
}

// attains returns the condition that a value is the extreme, or one of the NaNs that make it NaN.
func attains(value, extreme *term.Term) *term.Term {
	return term.Either(term.Compare(term.Equal, value, extreme), term.Applied("isnan", value))
}

// tied returns the number of elements that attain the extreme at r.at, from a temporary.
func (d *deriver) tied(r *run, vars []*term.Variable) *term.Term {
	at := func(place, index *term.Term) *term.Term { // the condition that an element attains the extreme
		to := map[*term.Variable]*term.Term{r.over: place}
		return term.All(r.needed.Substitute(to), attains(r.value.Substitute(to), r.extreme.Substitute(map[*term.Variable]*term.Term{r.at: index})))
	}
	exists := implied(term.All(term.Compare(term.AtMost, r.over.Lo, r.last), term.Compare(term.Less, r.last, r.over.Hi)))
	added := term.Chosen(term.All(exists, at(r.last, r.at.Term())), term.RealNumber(1), term.RealNumber(0))
	first := added
	if !r.single {
		w := &term.Variable{Name: r.over.Name, Lo: r.lo, Hi: r.hi}
		first, _ = d.keep("first", vars, nil, &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: reduction.Sum, Vars: []*term.Variable{w},
			Guard: at(w.Term(), r.first()), Body: term.Number(1), Part: -1}}, false)
	}
	return d.accumulated("ties", r, -r.step, r.begins(), first, added, vars)
}

// accumulated returns an element of a new tensor, which a recurrence gives along r.at: the sum of added and
// of the element at the index plus step, if the extreme is the same number there. At the end, where there is
// none, it is first.
func (d *deriver) accumulated(name string, r *run, step int, end, first, added *term.Term, vars []*term.Variable) *term.Term {
	left, here := &term.Read{Count: 1}, &term.Read{Count: 1}
	values := map[*term.Variable]*term.Term{}
	var loops []*term.Variable
	for _, v := range vars {
		if v != r.at && !first.Uses(v) && !added.Uses(v) && !r.extreme.Uses(v) && occupied(v) {
			continue
		}
		w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: extentOf(v)}
		loops, values[v] = append(loops, w), term.Norm(term.Sum(w.Term(), v.Lo))
		left.Idx, left.Ext = append(left.Idx, w.Term()), append(left.Ext, w.Hi)
		here.Idx = append(here.Idx, term.Norm(term.Difference(v.Term(), v.Lo)))
	}
	left.Tensor = d.tensor(name, left.Ext)
	left.Text = d.p.Tensors[left.Tensor].Name
	here.Tensor, here.Ext, here.Text = left.Tensor, left.Ext, left.Text
	own := &term.Term{Op: term.Element, Kind: term.Real, Read: here}
	beside := map[*term.Variable]*term.Term{r.at: term.Norm(term.Sum(r.at.Term(), term.Number(step)))}
	next, earlier := r.extreme.Substitute(beside), r.extreme
	if step == -r.step {
		earlier = next
	}
	same := term.Either(term.Compare(term.Equal, r.extreme, next), term.Applied("isnan", earlier)) // what follows a NaN is NaN
	value := term.Chosen(end, first, term.Sum(added, term.Chosen(same, own.Substitute(beside), term.RealNumber(0))))
	d.emit(&program.Statement{Target: left.Tensor, Left: left, Vars: loops, Value: value.Substitute(values)})
	return own
}

// inBounds reports whether all elements that n reads are within bounds wherever its indices are.
func inBounds(n *term.Term) bool {
	in := true
	n.Walk(func(m *term.Term) { in = in && (m.Op != term.Element || m.Read.Else != nil || inside(m.Read)) })
	return in
}

// runningParts returns an extreme of choices as the extreme of running extremes, one for each branch, or nil
// if there are none.
func runningParts(n *term.Term) *term.Term {
	parts := branches(n.Reduction)
	if len(parts) == 1 {
		return nil
	}
	var out *term.Term
	for _, r := range parts {
		s := r.Scan()
		if s == nil || s.Where == term.Others || s.Guard != nil {
			return nil
		}
		x := term.Chosen(term.Compare(term.Less, s.Lo, s.Hi), r.Body, term.RealNumber(r.Kind.Identity()))
		if r.Body.Uses(s.Over) {
			v := &term.Variable{Name: s.Over.Name, Lo: s.Lo, Hi: s.Hi}
			x = &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &term.Reduction{Kind: r.Kind, Vars: []*term.Variable{v},
				Body: r.Body.Substitute(map[*term.Variable]*term.Term{s.Over: v.Term()}), Part: -1}}
		}
		if out == nil {
			out = x
		} else {
			out = &term.Term{Op: term.Apply, Kind: n.Kind, Func: joinOf(n), Args: []*term.Term{out, x}}
		}
	}
	return out
}
