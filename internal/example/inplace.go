package example

import (
	"github.com/opgen/opgen/internal/derive"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// sharing returns whether a task's result may lie where what it reads lies. ok is false if one is absent here, or if they
// differ in size, so that memory is not shared.
func (v *view) sharing(k task.Kind, slot, of int) (s derive.Sharing, ok bool) {
	out, in := v.tensor(k, slot), v.tensor(k, of)
	p := v.tensors(k)
	if out < 0 || in < 0 || derive.Size(p.Tensors[out]) != derive.Size(p.Tensors[in]) || derive.Size(p.Tensors[out]) < 2 {
		return derive.Apart, false
	}
	return derive.InPlace(v.statements(k), out, in), true
}

// checkInPlace compares what a spec states about memory in place with the order in which the formula reads and gives
// elements. A kernel by hand may compute the statements in another order than the formula has them.
func (t *trial) checkInPlace(v *view) {
	for _, m := range v.op.Tasks {
		stated := map[task.Kind][]*spec.InPlace{task.KindForward: t.spec.InPlace, task.KindBackward: t.spec.InPlaceGrads}[m.Kind]
		for i, p := range m.InPlace {
			if i >= len(stated) {
				break // the model holds what follows
			}
			s, ok := v.sharing(m.Kind, p.Slot, p.Of)
			slot, of := v.op.Slots[p.Slot].Name, v.op.Slots[p.Of].Name
			switch {
			case !ok:
			case s == derive.Apart || s == derive.Reordered && v.op.Derived:
				t.contradict(stated[i].Of.Span(), "%s of %s gives %s in the place of %s according to the spec, but reads %s afterwards according to the formula",
					v, m.Name, v.op.Name, slot, of, of)
			case p.View && s != derive.SameElements:
				t.contradict(stated[i].View.Span, "%s of %s gives %s the elements of %s in their order according to the spec, but others according to the formula",
					v, m.Name, v.op.Name, slot, of)
			}
		}
	}
}
