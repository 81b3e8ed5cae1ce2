package example

import (
	"slices"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// checkSaved checks that backward is given the tensors that the gradient of the formula reads, and records
// which saved tensors the gradient needs. A kernel by hand may recompute a tensor from others.
func (t *trial) checkSaved(v *view) {
	backward := v.op.Task(task.KindBackward)
	if v.gradient == nil || backward == nil {
		return
	}
	given := func(slot int) bool {
		return slices.ContainsFunc(backward.Params, func(p *model.Param) bool {
			return !p.Grad && p.Slot.Number == slot && (p.OnlyIf == nil || v.truth(p.OnlyIf))
		})
	}
	for _, x := range v.gradient.Missing(given) {
		slot := v.program.Tensors[x].Slot
		if at := t.savedKey(slot); at != nil {
			d := t.contradict(source.SpanOf(at), "the gradient of the formula of %s reads %s, which backward is not given", v, v.op.Name, v.op.Slots[slot].Name)
			if d != nil {
				d.Hinted("leave out saved")
			}
		}
	}
	reads := v.gradient.Reads()
	for slot := range v.op.Slots {
		if t.savedKey(slot) == nil || !given(slot) {
			continue
		}
		without := func(s int) bool { return s != slot && given(s) }
		t.use[slot] = t.use[slot] || reads[slot] || len(v.gradient.Missing(without)) > 0
	}
}

// checkUse reports tensors that are stated to be saved, but that the gradient needs at no example.
func (t *trial) checkUse() {
	for slot, of := range t.use {
		if !of && !t.known.saved[slot] {
			t.report(source.SpanOf(t.savedKey(slot)), "%s is saved for backward of %s according to the spec, but no derivative of the formula reads it, at all examples",
				t.op.Slots[slot].Name, t.op.Name)
		}
	}
}

// savedKey returns the key saved of a slot in the spec, or nil.
func (t *trial) savedKey(slot int) source.Node {
	name := t.op.Slots[slot].Name
	i := slices.IndexFunc(t.spec.Slots, func(s *spec.Slot) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return t.spec.Slots[i].Saved
}

// saved infers which tensors are saved for backward: those that the gradient reads, and those from which
// backward recomputes others.
func (f *follower) saved() {
	if !f.differentiable() {
		return
	}
	takes := map[int]bool{}
	views := f.views
	if f.undecided() {
		views = slices.Concat(views, f.unseen())
	} else if f.op.Derived && f.decided() {
		views = slices.Concat(views, f.chosen())
	}
	for _, v := range views {
		for slot := range v.gradient.Reads() {
			takes[slot] = takes[slot] || f.mayBeSaved(slot)
		}
	}
	for _, v := range views {
		for _, t := range v.gradient.Missing(func(slot int) bool { return f.given(v, slot, takes) }) {
			if slot := v.program.Tensors[t].Slot; f.mayBeSaved(slot) {
				takes[slot] = true
			}
		}
	}
	for i, s := range f.spec.Slots {
		if !f.mayBeSaved(i) {
			continue
		}
		if stated := rules.Saved(s) != ""; takes[i] != stated {
			s.Saved = &source.Scalar{Span: s.Key, Value: takes[i]}
			f.known.saved[i], f.added = true, true
		}
		if c := f.savedIf(i, takes); takes[i] && c != "" {
			s.Saved = &source.Scalar{Span: s.Key, Value: c}
			f.known.saved[i], f.added = true, true
		}
	}
}

// savedIf returns the condition under which backward of an operator without a kernel by hand is given a slot
// that some uses need: that of the attributes in which these differ from others, or "".
func (f *follower) savedIf(slot int, takes map[int]bool) string {
	if !f.op.Derived || !takes[slot] || !f.decided() {
		return ""
	}
	views := slices.Concat(f.views, f.chosen())
	views = slices.DeleteFunc(views, func(v *view) bool { return len(v.use.tensors[slot]) == 0 })
	so := make([]bool, len(views))
	for i, v := range views {
		without := func(s int) bool { return s != slot && f.given(v, s, takes) }
		so[i] = v.gradient.Reads()[slot] || slices.ContainsFunc(v.gradient.Missing(without), func(t int) bool { return v.program.Tensors[t].Slot == slot })
	}
	return f.condition(views, so, true)
}

// decided reports whether an attribute of few values, one that may be absent, or a request decides what the
// formula computes.
func (f *follower) decided() bool {
	if f.requests() {
		return true
	}
	names := namesOf(f.op.Operator.Formula)
	return slices.ContainsFunc(f.op.Attrs, func(a *model.Attr) bool {
		return hasFew(a) && (names[a.Name] || f.decides(a.Name))
	})
}

// undecided reports whether the examples are too little evidence: some tensor may be saved, and the formula
// names it, but the gradient reads it at no example.
func (f *follower) undecided() bool {
	taken := map[int]bool{}
	for _, v := range f.views {
		for slot := range v.gradient.Reads() {
			taken[slot] = true
		}
	}
	names := namesOf(f.op.Operator.Formula)
	for slot, s := range f.op.Slots {
		if names[s.Name] && !taken[slot] && f.mayBeSaved(slot) {
			return true
		}
	}
	return false
}

// mayBeSaved reports whether saved is inferred for a slot. An output that may be absent is recomputed
// instead.
func (f *follower) mayBeSaved(slot int) bool {
	s := f.spec.Slots[slot]
	return s.Saved == nil && (s.Role.V == "input" || s.Role.V == "weight" || s.Role.V == "output" && !s.Present.Set())
}

// given reports whether backward is given the values of a slot, if those in takes are saved.
func (f *follower) given(v *view, slot int, takes map[int]bool) bool {
	s := v.op.Slots[slot]
	switch {
	case f.spec.Slots[slot].Saved == nil:
		return takes[slot] || s.Role == task.RoleSaved
	case s.SavedIf != nil:
		return v.truth(s.SavedIf)
	}
	return s.Saved != ""
}
