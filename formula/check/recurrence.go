package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// recurring is the state of the check of recurrences: groups of statements that read each other's results, as
// in h[t] = a * (h[t - 1] else 0) + x[t].
type recurring struct {
	groups []*expr.Recurrence
	reads  []*earlier
	quiet  bool // kinds are inferred, and no reads are recorded
}

// earlier is a read of a tensor of a recurrence by a statement of the same recurrence.
type earlier struct {
	node  *expr.Read
	of    *tensor
	by    *expr.Statement
	items []item // the subscripts; nil if the element is read by its flat index
	fr    *frame
}

// statements checks all statements in order. A recurrence is checked as a whole, together with the statements
// between its first and its last one.
func (f *formula) statements(all []*expr.Statement, groups []*expr.Recurrence) {
	for i := 0; i < len(all); {
		end := i + 1
		var own []*expr.Recurrence
		for more := true; more; {
			more = false
			for _, r := range groups {
				if r.First >= i && r.First < end && !slices.Contains(own, r) {
					own, end, more = append(own, r), max(end, r.Last+1), true
				}
			}
		}
		if len(own) > 0 {
			f.recurrences(all[i:end], own)
		} else {
			f.statement(all[i])
		}
		i = end
	}
}

// recurrences checks a range of statements that contains recurrences. It declares the tensors of the
// recurrences first, infers their kinds, checks each statement, and then checks that an order of evaluation
// exists.
func (f *formula) recurrences(all []*expr.Statement, groups []*expr.Recurrence) {
	f.recurring = &recurring{groups: groups}
	defer func() { f.recurring = nil }()
	for _, s := range all {
		if f.recurring.of(s) == nil {
			continue
		}
		_, targets, err := f.leftSide(s)
		if err != nil { // it is reported when the statement is checked
			f.unknown(s)
			continue
		}
		for _, t := range targets {
			t.ahead = !t.scalar
		}
	}
	f.kindsAhead(all)
	for _, s := range all {
		f.statement(s)
	}
	for _, r := range groups {
		if err := f.inOrder(all, r); err != nil {
			f.report(err)
			for name := range r.Names {
				if t := f.tensors[name]; t != nil {
					t.bad = true
				}
			}
		}
	}
}

// unknown declares the targets of a statement whose left side has an error, as tensors of which nothing is
// known.
func (f *formula) unknown(s *expr.Statement) {
	for _, n := range s.Targets {
		if name, _ := targetName(n); f.tensors[name] == nil && f.sc.What(name) == "" && f.functions[name] == nil {
			f.tensors[name] = &tensor{name: name, node: n, bad: true}
			f.order = append(f.order, f.tensors[name])
		}
	}
}

// of returns the recurrence to which a statement belongs, or nil.
func (r *recurring) of(s *expr.Statement) *expr.Recurrence {
	if r == nil || s == nil {
		return nil
	}
	for _, g := range r.groups {
		if g.Gives(s) {
			return g
		}
	}
	return nil
}

// kindsAhead infers the kinds of intermediate tensors that are read before they are defined, by two fixed
// point iterations. The first starts with all kinds, and removes those that the definitions exclude. The
// second starts with the least remaining kind, and adds those that the definitions need. What has an
// error as an integer, such as one with a number that is none, is a float.
func (f *formula) kindsAhead(all []*expr.Statement) {
	f.recurring.quiet = true
	defer func() { f.recurring.quiet = false }()
	var ahead []*tensor
	for _, s := range all {
		if f.recurring.of(s) == nil {
			continue
		}
		for _, n := range s.Targets {
			name, _ := targetName(n)
			if t := f.tensors[name]; t != nil && t.ahead && t.slot == nil && !t.bad && !slices.Contains(ahead, t) {
				t.kinds = kElement
				ahead = append(ahead, t)
			}
		}
	}
	f.narrow(all, ahead, func(t *tensor, k kinds) kinds { return t.kinds & k })
	may := map[*tensor]kinds{}
	for _, t := range ahead {
		may[t] = t.kinds
		t.kinds &= -t.kinds // the least one
	}
	for more := true; more; {
		f.narrow(all, ahead, func(t *tensor, k kinds) kinds { return k & may[t] })
		more = f.raise(all, may)
	}
}

// raise makes a float of a tensor that may be one, and whose definition has an error while it is an integer.
// It reports whether there is such a tensor.
func (f *formula) raise(all []*expr.Statement, may map[*tensor]kinds) bool {
	for _, s := range all {
		fr, targets, err := f.leftSide(s)
		if err != nil || f.recurring.of(s) == nil {
			continue
		}
		f.checked = s
		if _, err := f.eval(s.X, fr, false); err == nil {
			continue
		}
		for _, t := range targets {
			if t.kinds == kInt && may[t]&kFloat != 0 {
				may[t], t.kinds = kFloat, kFloat
				return true
			}
		}
	}
	return false
}

// narrow iterates to a fixed point: it sets the kinds of each tensor in ahead to to(t, kinds of its
// definitions). Statements with type errors under the present kinds are skipped.
func (f *formula) narrow(all []*expr.Statement, ahead []*tensor, to func(t *tensor, gives kinds) kinds) {
	for changed, left := true, 3*len(ahead)+1; changed && left > 0; left-- {
		changed = false
		gives := map[*tensor]kinds{}
		for _, s := range all {
			fr, targets, err := f.leftSide(s)
			if err != nil || f.recurring.of(s) == nil {
				continue
			}
			f.checked = s
			v, err := f.eval(s.X, fr, false)
			if err != nil {
				continue
			}
			for _, t := range targets { // one that several statements give, each for some uses, is what any of them gives
				gives[t] |= v.kinds & kElement
			}
		}
		for _, t := range ahead {
			if k := to(t, gives[t]); k != 0 && k != t.kinds {
				t.kinds, changed = k, true
			}
		}
	}
}

// guesses reports whether kindsAhead runs, so that the kinds of tensors that are read before their definition
// are preliminary.
func (r *recurring) guesses() bool { return r != nil && r.quiet }

// note records a read of a tensor of the recurrence to which the checked statement belongs.
func (r *recurring) note(f *formula, n *expr.Read, t *tensor, items []item, fr *frame) {
	if r == nil || r.quiet || n.Old {
		return
	}
	if g := r.of(f.checked); g != nil && g.Names[t.name] {
		r.reads = append(r.reads, &earlier{n, t, f.checked, items, fr})
	}
}

// inOrder returns an error unless the recurrence can be evaluated along one index, in ascending or descending
// order: each element is defined before it is read.
func (f *formula) inOrder(all []*expr.Statement, g *expr.Recurrence) *expr.Error {
	var own []*expr.Statement
	for _, s := range all {
		if !g.Gives(s) {
			continue
		}
		own = append(own, s)
		for _, n := range s.Targets {
			if name, _ := targetName(n); f.tensors[name] == nil || f.tensors[name].bad {
				return nil // what is wrong is reported
			}
		}
	}
	reads := slices.DeleteFunc(slices.Clone(f.recurring.reads), func(e *earlier) bool { return !g.Names[e.of.name] || !g.Gives(e.by) })
	if len(reads) == 0 {
		return nil
	}
	var worst *earlier
	index, most := "", -1
	for _, name := range alone(own[0].Targets[0]) {
		if slices.ContainsFunc(own, func(s *expr.Statement) bool { return !hasAlone(s, name) }) {
			continue
		}
		for _, down := range []bool{false, true} {
			wrong := slices.IndexFunc(reads, func(e *earlier) bool { return !f.before(own, e, name, down) })
			if wrong < 0 {
				return nil
			}
			if wrong > most {
				worst, index, most = reads[wrong], name, wrong
			}
		}
	}
	if worst == nil {
		e := failf(reads[0].node, expr.BadFormula, "%s is read before it is given: no index stands by itself on the left sides of all lines of this recurrence", reads[0].of.name)
		e.Hint = "give " + reads[0].of.name + " an index over which the recurrence goes, such as t of h[t, n], and read it at t - 1"
		return e
	}
	e := failf(worst.node, expr.BadFormula, "%s is read at %s before it is given: a recurrence reads an earlier element of one index, such as %s",
		worst.of.name, f.elementText(worst.node, ""), f.elementText(given(own, worst.of.name), index))
	e.Hint = "read it at " + index + " - 1 or " + index + " + 1, with else for what is outside, or put the line that gives it above this one"
	return e
}

// given returns the left side of the first statement that defines tensor name.
func given(own []*expr.Statement, name string) *expr.Read {
	for _, s := range own {
		for _, n := range s.Targets {
			if r, ok := n.(*expr.Read); ok && r.Name == name {
				return r
			}
		}
	}
	return nil
}

// elementText returns the text of an element n, with index replaced by index - 1, for messages.
func (f *formula) elementText(n *expr.Read, index string) string {
	var texts []string
	for _, it := range n.Groups[0] {
		if texts = append(texts, f.source(it)); f.source(it) == index {
			texts[len(texts)-1] += " - 1"
		}
	}
	return n.Name + "[" + strings.Join(texts, ", ") + "]"
}

// alone lists the indices that are subscripts by themselves on a left side.
func alone(n expr.Node) []string {
	var out []string
	if r, ok := n.(*expr.Read); ok {
		for _, it := range r.Groups[len(r.Groups)-1] {
			if id, ok := it.(*expr.Ident); ok {
				out = append(out, id.Name)
			}
		}
	}
	return out
}

func hasAlone(s *expr.Statement, name string) bool {
	return !slices.ContainsFunc(s.Targets, func(n expr.Node) bool { return !slices.Contains(alone(n), name) })
}

// before reports whether the element that e reads is defined earlier, if index runs upward, or downward if
// down is set: at an earlier value of index, or at the same value by a statement above.
func (f *formula) before(own []*expr.Statement, e *earlier, index string, down bool) bool {
	above := true
	for i, s := range own {
		at := slices.IndexFunc(s.Targets, func(n expr.Node) bool { name, _ := targetName(n); return name == e.of.name })
		if at < 0 {
			continue
		}
		above = above && i < slices.Index(own, e.by)
		left := s.Targets[at].(*expr.Read).Groups
		place := slices.IndexFunc(left[len(left)-1], func(n expr.Node) bool { id, ok := n.(*expr.Ident); return ok && id.Name == index })
		if len(left) != 1 || place < 0 || len(e.items) != len(left[0]) || e.items[place].int == nil {
			return false
		}
		for j, it := range e.items[:place] { // runs stand for the same dimensions
			run := slices.ContainsFunc(e.of.elems[j:j+1], func(e elem) bool { return e.rest })
			if run != (it.kinds == kRun) {
				return false
			}
		}
		distance := atom(indexMark + index).Sub(e.items[place].int)
		if down {
			distance = e.items[place].int.Sub(atom(indexMark + index))
		}
		if n, known := f.normal(distance).Number(); known && n == 0 {
			if !above {
				return false
			}
			continue
		}
		if !f.nonnegative(distance.Sub(constant(1)), e.fr) {
			return false
		}
	}
	return true
}
