package example

import (
	"slices"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// checkSaved compares which tensors are stated to be saved for backward with what the gradient of the formula reads. A
// kernel by hand may compute a tensor again from others that it is given.
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

// checkUse reports the tensors that are stated to be saved, of which the gradient takes nothing at any example.
func (t *trial) checkUse() {
	for slot, of := range t.use {
		if !of {
			t.report(source.SpanOf(t.savedKey(slot)), "%s is saved for backward of %s according to the spec, but no derivative of the formula reads it, at all examples",
				t.op.Slots[slot].Name, t.op.Name)
		}
	}
}

// savedKey returns what the spec states about saving a slot; nil if it states nothing.
func (t *trial) savedKey(slot int) source.Node {
	name := t.op.Slots[slot].Name
	i := slices.IndexFunc(t.spec.Slots, func(s *spec.Slot) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return t.spec.Slots[i].Saved
}

// saved states of which tensors backward is given the values: of those of which the gradient reads elements, at an example.
func (f *follower) saved() {
	if !f.differentiable() {
		return
	}
	reads := map[int]bool{}
	for _, v := range f.views {
		for slot := range v.gradient.Reads() {
			reads[slot] = true
		}
	}
	for i, s := range f.spec.Slots {
		if s.Saved != nil || !slices.Contains([]string{"input", "weight", "output"}, s.Role.V) {
			continue
		}
		if want := reads[i]; want != (rules.Saved(s) != "") {
			s.Saved = &source.Scalar{Span: s.Key, Value: want}
			f.added = true
		}
	}
}
