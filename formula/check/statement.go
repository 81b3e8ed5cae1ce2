package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// statement checks a statement and reports its first error. Its targets count as defined even if it has an
// error, so that no further errors follow.
func (f *formula) statement(s *expr.Statement) {
	f.giving, f.c.place = nil, s.Targets[0]
	for _, n := range s.Targets {
		name, _ := targetName(n)
		f.giving = append(f.giving, name)
	}
	err := f.checkStatement(s)
	if err != nil {
		f.report(err)
		f.otherFunctions(s.X, err)
	}
	for _, n := range s.Targets {
		name, scalar := targetName(n)
		t := f.tensors[name]
		if t == nil {
			if f.sc.What(name) != "" || f.functions[name] != nil {
				continue
			}
			t = &tensor{name: name, node: n, scalar: scalar}
			f.tensors[name] = t
			f.order = append(f.order, t)
		}
		t.bad = t.bad || err != nil
		t.by = append(t.by, s)
	}
}

func targetName(n expr.Node) (name string, scalar bool) {
	if r, ok := n.(*expr.Read); ok {
		return r.Name, false
	}
	return n.(*expr.Ident).Name, true
}

func (f *formula) checkStatement(s *expr.Statement) *expr.Error {
	fr, targets, err := f.leftSide(s)
	if err != nil {
		return err
	}
	if err := f.gradient(s, targets[0]); err != nil {
		return err
	}
	if err := f.noGradients(s, targets); err != nil {
		return err
	}
	if err := f.rightSide(s, targets, fr); err != nil {
		return err
	}
	return f.oneTensor(s, targets)
}

// oneTensor checks a statement that reads tensors of different extents by their number i, as x[i][n, c] does
// where c ranges over C[i]. It is computed for each tensor by itself, so no reduction goes over i, and it
// defines elements of a slot, whose places are known for each tensor.
func (f *formula) oneTensor(s *expr.Statement, targets []*tensor) *expr.Error {
	var read *expr.Read
	expr.Walk(s.X, func(n expr.Node) {
		r, ok := n.(*expr.Read)
		if !ok || read != nil || len(r.Groups) != 2 || len(r.Groups[0]) != 1 {
			return
		}
		if t := f.tensors[r.Name]; t != nil && t.slot != nil && t.slot.differs() {
			if id, ok := r.Groups[0][0].(*expr.Ident); ok && id.Name == "i" {
				read = r
			}
		}
	})
	if read == nil {
		return nil
	}
	hint := "name the number and the indices otherwise: j < count(" + read.Name + ")"
	if each := f.tensors[read.Name].slot.Each; len(each) > 0 {
		hint += ", with a range such as m < " + each[0] + "[j]"
	}
	var err *expr.Error
	expr.Walk(s.X, func(n expr.Node) {
		r, ok := n.(*expr.Reduce)
		if !ok || err != nil {
			return
		}
		for _, b := range r.Binders {
			if binderName(b) == "i" {
				err = failf(b, expr.BadFormula, "i is the number of one tensor of %s, whose extents differ, so a reduction cannot go over it", read.Name)
				err.Hint = hint
			}
		}
	})
	if err == nil && targets[0].slot == nil {
		err = failf(s.Targets[0], expr.BadFormula, "%s is no slot, so its elements cannot come from tensors of %s, whose extents differ, one after the other", targets[0].name, read.Name)
		err.Hint = hint
	}
	return err
}

// differs reports whether the tensors of a slot have extents of their own, such as C[i].
func (s *Slot) differs() bool {
	return s.Variadic != nil && slices.ContainsFunc(s.Shape, func(e string) bool { return strings.Contains(strings.ReplaceAll(e, " ", ""), "[i]") })
}

// leftSide checks a statement without its right side: when, for and the targets. It returns the scope for the
// right side, and the tensors that the statement defines.
func (f *formula) leftSide(s *expr.Statement) (*frame, []*tensor, *expr.Error) {
	f.checked = s
	fr := &frame{outer: f.root}
	if s.When != nil {
		c, err := f.eval(s.When, fr, false)
		if err != nil {
			return nil, nil, err
		}
		if err := want(s.When, c, kBool); err != nil {
			return nil, nil, err
		}
		if err := f.noElements(s.When); err != nil {
			return nil, nil, err
		}
		f.assume(s.When, true, fr, fr, false)
	}
	for _, b := range s.For {
		if err := f.forRange(b, fr); err != nil {
			return nil, nil, err
		}
	}
	var targets []*tensor
	for i, n := range s.Targets {
		t, err := f.target(n, fr)
		if err != nil {
			return nil, nil, err
		}
		if err := f.twice(s, n, t); err != nil {
			return nil, nil, err
		}
		if slices.Contains(targets, t) {
			return nil, nil, failf(s.Targets[i], expr.BadFormula, "%s is given twice", t.name)
		}
		if f.tensors[t.name] == nil {
			f.tensors[t.name] = t
			f.order = append(f.order, t)
		}
		f.assumePresent(t, fr)
		targets = append(targets, t)
	}
	for _, b := range s.For {
		if id := b.X.(*expr.Ident); len(fr.indices(id.Name)) == 0 {
			return nil, nil, failf(id, expr.BadFormula, "%s does not stand on the left side", id.Name)
		}
	}
	return fr, targets, nil
}

// noElements returns an error if a `when` condition depends on elements of tensors or on arguments from the
// caller: it must be known when the program is built.
func (f *formula) noElements(cond expr.Node) (err *expr.Error) {
	refuse := func(n expr.Node, of string) {
		if err == nil {
			err = failf(n, expr.BadFormula, "whether a statement counts cannot depend on %s", of)
			err.Hint = "write a condition in the expression: c ? x : y"
		}
	}
	expr.Walk(cond, func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Read:
			if f.tensors[n.Name] != nil {
				refuse(n, "elements of tensors")
			} else if f.passed(n.Name) != nil {
				refuse(n, "what the caller passes")
			}
		case *expr.Ident:
			if a := f.passed(n.Name); a != nil && a.Variadic == nil {
				refuse(n, "what the caller passes")
			}
		}
	})
	return err
}

// rightSide checks the right side of a statement against the types of its targets. Intermediate tensors get
// their kinds from it.
func (f *formula) rightSide(s *expr.Statement, targets []*tensor, fr *frame) *expr.Error {
	v, err := f.eval(s.X, fr, false)
	if err != nil {
		return err
	}
	for i, t := range targets {
		if err := t.takes(s.X, v); err != nil {
			return err
		}
		if t.slot != nil && (t.slot.Role != "saved" || t.slot.Type != "i64") { // a place may wrap in narrower types
			continue
		}
		places := f.places(s, i, fr)
		if t.given() {
			t.kinds |= v.kinds & kElement
			t.int = nil
			// A line between two definitions that reads t is an error where only the second one counts.
			if t.within != nil && (places == nil || !f.sameRange(t.within, places)) {
				t.within = nil
			}
			continue
		}
		if t.slot == nil {
			t.kinds, t.int = v.kinds&kElement, v.int
		}
		if places != nil {
			t.within = places
		}
	}
	return nil
}

// places returns the range of the elements that a statement gives its target number i, if they are places of
// an order or of an extreme, and nil otherwise.
func (f *formula) places(s *expr.Statement, i int, fr *frame) *extent {
	r, ok := s.X.(*expr.Reduce)
	switch {
	case ok && r.Kind.Is(reduction.Order) && len(s.Targets) == 1:
		return f.placeIn(r, fr)
	case ok && r.Kind.Is(reduction.Argument) && len(r.Binders) == len(s.Targets):
		return f.placeOf(r, i, fr)
	}
	return nil
}

// sameRange reports whether two ranges have the same ends.
func (f *formula) sameRange(x, y *extent) bool {
	return x.run == y.run && slices.EqualFunc(x.los, y.los, f.same) && slices.EqualFunc(x.his, y.his, f.same)
}

// placeOf returns the range of result i of an argmax or argmin, which is that of the reduced index. It
// returns nil if that is unknown.
func (f *formula) placeOf(r *expr.Reduce, i int, fr *frame) *extent {
	in := &frame{outer: fr}
	for _, b := range r.Binders {
		if f.binder(b, in) != nil {
			return nil
		}
	}
	if i >= len(in.bound) || in.bound[i].run != nil {
		return nil
	}
	return lasting(in.bound[i].extent)
}

// forRange declares the range of an index of the left side by a for clause, as in y[i] = ... for i < 3.
func (f *formula) forRange(b *expr.Binder, fr *frame) *expr.Error {
	id := b.X.(*expr.Ident)
	base := strings.TrimRight(id.Name, "'")
	if err := f.bindable(id, id.Name); err != nil {
		return err
	}
	x, err := f.explicit(b, base, fr)
	if err != nil {
		return err
	}
	if d, _ := f.dimOf(base); d != "" {
		return f.bind(id, id.Name, part{}, *x, fr)
	}
	if known := f.ranges[base]; known != nil && (known.run != nil || len(known.his) != 1 || !f.same(known.his[0], x.his[0])) {
		return failf(b, expr.BadFormula, "%s has another range above", base)
	}
	f.setRange(base, x)
	return nil
}

// twice returns an error if another statement defines the same target unconditionally or under the same
// condition.
func (f *formula) twice(s *expr.Statement, n expr.Node, t *tensor) *expr.Error {
	for _, other := range t.by {
		switch {
		case s.When == nil || other.When == nil:
			return failf(n, expr.BadFormula, "%s is given twice", t.name)
		case show(s.When) == show(other.When):
			return failf(n, expr.BadFormula, "%s is given twice when %s", t.name, f.source(s.When))
		}
	}
	return nil
}

// assumePresent adds the condition under which slot t is present to fr, as a known fact.
func (f *formula) assumePresent(t *tensor, fr *frame) {
	if t.slot == nil || t.slot.Present == "" || t.slot.Present == "caller" {
		return
	}
	if n, err := expr.Parse(t.slot.Present); err == nil {
		f.assume(n, true, fr, fr, true)
	}
}
