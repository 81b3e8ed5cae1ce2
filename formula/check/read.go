package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// read infers the value of name[...]: an element of a tensor, or a part of a run or a list.
func (f *formula) read(n *expr.Read, fr *frame) (value, *expr.Error) {
	t := f.tensors[n.Name]
	_, isParam := fr.param(n.Name)
	switch field := f.listOf(n); {
	case field != nil:
		if len(n.Groups) > 1 || len(n.Groups[0]) != 1 || n.Else != nil || n.Old {
			return value{}, failf(n, expr.BadFormula, "%s is a list, so one number or one range in brackets picks from it", n.Name)
		}
		return f.part(n, field, n.Groups[0], fr)
	case isParam || len(fr.indices(n.Name)) > 0 || t == nil && !n.Old && f.isDims(n.Name):
		if len(n.Groups) > 1 || len(n.Groups[0]) != 1 || n.Else != nil || n.Old {
			return value{}, failf(n, expr.BadFormula, "%s is a run, so one number or one range in brackets picks from it", n.Name)
		}
		return f.part(n, expr.NewIdent(n.Name, n.NameEnd-len(n.Name), n.NameEnd), n.Groups[0], fr)
	case t == nil && f.defining && f.future[n.Name]:
		for _, g := range n.Groups {
			if _, err := f.items(g, fr); err != nil {
				return value{}, err
			}
		}
		return value{kinds: kAny}, nil
	case t == nil && !isParam && f.passed(n.Name) != nil:
		return f.readPassed(n, f.passed(n.Name), fr)
	case t == nil && f.future[n.Name] && !n.Old:
		return f.later(n, n.Name)
	case t == nil:
		e := f.undefined(n, n.Name, fr)
		e.Pos, e.End = n.NameEnd-len(n.Name), n.NameEnd
		if f.sc != nil && f.sc.What(n.Name) != "" {
			e.Code, e.Hint, e.New = expr.BadType, "", ""
			e.Message = fmt.Sprintf("%s is no tensor and no run of dimensions", n.Name)
		}
		return value{}, e
	}
	return f.readTensor(n, t, fr)
}

// listOf returns the list attribute, or the field of a record, that n subscripts, or nil if n subscripts
// something else.
func (f *formula) listOf(n *expr.Read) expr.Node {
	record, field, ok := strings.Cut(n.Name, ".")
	if f.sc == nil {
		return nil
	}
	if !ok {
		if s, ok := f.sc.Lookup(n.Name); ok && s.Type.Kind == expr.OtherList {
			return expr.NewIdent(n.Name, n.NameEnd-len(n.Name), n.NameEnd)
		}
		return nil
	}
	if s, ok := f.sc.Lookup(record); !ok || s.Type.Kind != expr.Record {
		return nil
	}
	return expr.NewSelect(expr.NewIdent(record, n.Pos(), n.Pos()+len(record)), field, n.NameEnd-len(field))
}

// isDims reports whether a name denotes a run of dimensions, or an attribute with dimensions.
func (f *formula) isDims(name string) bool {
	if f.sc == nil {
		return false
	}
	s, ok := f.sc.Lookup(name)
	return ok && kindsOf[s.Type.Kind]&kRun != 0
}

// readTensor infers the value of an element of tensor t, and checks that the access is in bounds or has a
// default.
func (f *formula) readTensor(n *expr.Read, t *tensor, fr *frame) (value, *expr.Error) {
	if err := f.readable(n, t, fr); err != nil {
		return value{}, err
	}
	var outside value
	if n.Else != nil {
		var err *expr.Error
		if outside, err = f.eval(n.Else, fr, false); err != nil {
			return value{}, err
		}
		if err := t.takes(n.Else, outside); err != nil && !(f.recurring.guesses() && t.ahead && t.slot == nil) {
			return value{}, err
		}
	}
	elems, group, err := f.access(n, t, n.Groups, fr)
	if err != nil {
		return value{}, err
	}
	items, err := f.itemsOf(n, t, group, elems, fr)
	if err != nil {
		return value{}, err
	}
	f.recurring.note(f, n, t, items, fr)
	if n.Else == nil && items != nil {
		if err := f.inside(n, t, items, elems, fr); err != nil {
			return value{}, err
		}
	}
	v := value{kinds: t.elements()}
	if n.Else != nil {
		own := t.elements()
		if f.recurring.guesses() && t.ahead { // an element of any kind is of the one that else has
			if outside.kinds&kNumber == 0 {
				own &^= kNumber
			} else if outside.kinds&kBool == 0 {
				own &^= kBool
			}
		}
		v.kinds = elseOf(own, outside.kinds)
	}
	if v.kinds == kInt && n.Else == nil {
		v.int = f.lookup(n, t, fr)
	}
	return v, nil
}

// lookup returns an element of an integer tensor as an atom, with the bounds that the slot declares (below
// and except).
func (f *formula) lookup(n *expr.Read, t *tensor, fr *frame) poly {
	name := f.unique(n, fr)
	switch {
	case t.within == nil:
		f.atomInfo(name).free = true
	case t.except == nil:
		f.atomInfo(name).extent = t.within
	case fr.apart(name, t.except):
		name += " within the bound" // elsewhere it may be the exception
		f.atomInfo(name).extent = t.within
	default:
		if n, ok := t.except.Number(); ok && n < 0 { // the bound above holds for the exception, too
			f.atomInfo(name).extent = &extent{his: t.within.his}
		}
		f.atomInfo(name).free = true
	}
	return atom(name)
}

// unique returns the text of an expression at fr, for the name of an atom. In place of one that is too long,
// or of one in a function of another formula, stands a text that nothing else has.
func (f *formula) unique(n expr.Node, fr *frame) string {
	if t := text(n, fr); t != "" && (f == f.c.main || !fr.inFunction()) {
		return t
	}
	f.calls++
	return fmt.Sprintf("the value of call %d", f.calls)
}

// inFunction reports whether fr is in the body of a function.
func (fr *frame) inFunction() bool {
	in := false
	fr.visible(func(fr *frame) bool {
		in = in || fr.params != nil && !fr.spec
		return true
	})
	return in
}

// readable returns an error if tensor t has no value at this place: it is read before its definition, may be
// absent, or has no old value.
func (f *formula) readable(n *expr.Read, t *tensor, fr *frame) *expr.Error {
	state := t.slot != nil && f.states[t.name]
	switch {
	case n.Old && t.slot == nil:
		return failf(n, expr.BadFormula, "%s is not a slot, so there is no old %s", t.name, t.name)
	case n.Old && !state:
		e := failf(n, expr.BadFormula, "no task writes %s, so it has no old value", t.name)
		e.Hint = "write " + t.name + " without old"
		return e
	case n.Old || f.defining:
		return nil
	case t.scalar:
		return failf(n, expr.BadFormula, "%s is a scalar: write it without brackets", t.name)
	case state && !t.given():
		e := failf(n, expr.BadFormula, "%s is not given yet", t.name)
		e.Hint = fmt.Sprintf("write old.%s for what it was before the task", t.name)
		return e
	case t.slot != nil && (t.slot.Role == "input" || t.slot.Role == "weight"):
		return f.mayBeAbsent(n, t, fr)
	case !t.given() && !t.ahead:
		e := failf(n, expr.BadFormula, "%s is read before it is given", t.name)
		e.Hint = "put the line that gives " + t.name + " above this one"
		if slices.Contains(f.giving, t.name) {
			e.Message = fmt.Sprintf("%s is read by the line that gives it", t.name)
		}
		return e
	}
	return nil
}

// mayBeAbsent returns an error if an optional slot is read where no condition establishes that it is present.
func (f *formula) mayBeAbsent(n *expr.Read, t *tensor, fr *frame) *expr.Error {
	cond := t.slot.Present
	if cond == "" || t.given() || f.known("present("+t.name+")", fr) {
		return nil
	}
	e := failf(n, expr.BadFormula, "%s may be absent", t.name)
	e.Hint = fmt.Sprintf("test it: present(%s) ? ... : ...", t.name)
	if cond == "caller" {
		return e
	}
	e.Hint = fmt.Sprintf("test it: %s ? ... : ...", cond)
	p, err := expr.Parse(cond)
	if err != nil || f.holds(p, fr) {
		return nil
	}
	return e
}

// holds reports whether condition n, or each operand of a conjunction, is known at fr.
func (f *formula) holds(n expr.Node, fr *frame) bool {
	if b, ok := n.(*expr.Binary); ok && b.Op == "&&" {
		return f.holds(b.X, fr) && f.holds(b.Y, fr)
	}
	return f.known(show(n), fr)
}

// access splits the subscripts of a tensor into the number of a variadic slot's tensor and the index in that
// tensor. It returns the shape of the tensor and the index.
func (f *formula) access(n expr.Node, t *tensor, groups [][]expr.Node, fr *frame) ([]elem, []expr.Node, *expr.Error) {
	if t.slot == nil || t.slot.Variadic == nil {
		if len(groups) > 1 {
			return nil, nil, failf(n, expr.BadFormula, "%s is one tensor, so it has one index in brackets", t.name)
		}
		return t.elems, groups[0], nil
	}
	if len(groups) < 2 {
		e := failf(n, expr.BadFormula, "%s holds several tensors: want two indices in brackets", t.name)
		e.Hint = fmt.Sprintf("write %s[i][...], where i is the number of a tensor", t.name)
		return nil, nil, e
	}
	if len(groups[0]) != 1 {
		return nil, nil, failf(n, expr.BadFormula, "want one number of a tensor, got %d", len(groups[0]))
	}
	number, err := f.integer(groups[0][0], fr)
	if err != nil {
		return nil, nil, err
	}
	it := []item{{groups[0][0], number}}
	count := f.countOf(t.slot)
	if err := f.inside(n, t, it, []elem{{n: count}}, fr); err != nil {
		return nil, nil, err
	}
	if looksUp(fr.written(groups[0][0])) && !f.nonnegative(count.Sub(constant(1)), fr) {
		e := failf(groups[0][0], expr.BadFormula, "nothing says that %s has a tensor, and the place of an extreme of none is no tensor's number", t.name)
		e.Hint = fmt.Sprintf("say it: variadic = { min = 1 } in slot %s, or count(%s) > 0 ? ... : ...", t.name, t.name)
		return nil, nil, e
	}
	return f.shapeOf(t.slot, number), groups[1], nil
}

// looksUp reports whether elements of tensors, or the places of extremes, decide about an integer. Of
// nothing, such a place is 0, which need not lie inside; an index is there only if its range has one.
func looksUp(n expr.Node) (found bool) {
	expr.Walk(n, func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Read:
			found = true
		case *expr.Reduce:
			found = found || n.Kind == reduction.ArgMax || n.Kind == reduction.ArgMin
		}
	})
	return found
}
