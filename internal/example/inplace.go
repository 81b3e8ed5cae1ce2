package example

import (
	"slices"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// sharing returns how the results in one slot of a task may reuse the memory of the operands in another slot,
// of which each has the same number, according to the formula. ok is false if tensors are absent, or if there
// are others or their sizes differ. told reports whether this use is evidence, since a tensor has several
// elements.
func (v *view) sharing(k task.Kind, slot, of int) (s derive.Sharing, ok, told bool) {
	out, in := v.all(k, slot), v.all(k, of)
	if len(out) == 0 || len(out) != len(in) {
		return derive.Apart, false, false
	}
	s, ok = derive.SameElements, true
	p := v.tensors(k)
	for i := range out {
		switch size := derive.Size(p.Tensors[out[i]]); {
		case size != derive.Size(p.Tensors[in[i]]):
			ok = false
		case size > 1:
			s, told = min(s, derive.InPlace(p, v.statements(k), out[i], in[i])), true
		}
	}
	if !ok {
		s = derive.Apart
	}
	return s, ok, told
}

// notePlaces records which tensors that are stated to share memory have the same size.
func (t *trial) notePlaces(v *view) {
	if v == nil {
		return
	}
	for _, m := range v.op.Tasks {
		stated := t.places(m.Kind)
		for i, p := range m.InPlace {
			if i >= len(stated) || len(v.all(m.Kind, p.Slot)) == 0 || len(v.all(m.Kind, p.Of)) == 0 {
				continue
			}
			_, same, told := v.sharing(m.Kind, p.Slot, p.Of)
			if same && !told {
				continue // this use is no evidence
			}
			t.placed[stated[i]] = placing{true, t.placed[stated[i]].fits || same}
		}
	}
}

// places returns the in-place pairs that the spec states for a task.
func (t *trial) places(k task.Kind) []*spec.InPlace {
	switch k {
	case task.KindForward:
		return t.spec.InPlace
	case task.KindBackward:
		return t.spec.InPlaceGrads
	}
	return nil
}

// requested returns a view of example i with the outputs on request, or nil.
func (t *trial) requested(i int) *view {
	if len(t.spec.InPlace)+len(t.spec.InPlaceGrads) == 0 || len(t.op.Operator.Formula) == 0 {
		return nil
	}
	for _, c := range Choices(t.op) {
		if !c.Request {
			continue
		}
		if u := newUse(t.op, &t.op.Operator.Examples[i], c); u.err == nil {
			u.parsed = t.known.parsed
			return u.look(i+1, t.known)
		}
	}
	return nil
}

// checkInPlace checks the stated in-place pairs for reads after writes in the formula. A kernel by hand may
// reorder the statements.
func (t *trial) checkInPlace(v *view) {
	t.notePlaces(v)
	for _, m := range v.op.Tasks {
		stated := t.places(m.Kind)
		for i, p := range m.InPlace {
			if i >= len(stated) {
				break // the others in the model are inferred
			}
			s, ok, _ := v.sharing(m.Kind, p.Slot, p.Of)
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

// placing is the evidence of the examples about a stated in-place pair.
type placing struct {
	seen, fits bool // an example has both tensors; one has them with equal sizes
}

// checkSizes reports stated in-place pairs whose sizes differ at all examples.
func (t *trial) checkSizes() {
	for i := range t.op.Operator.Examples {
		t.notePlaces(t.requested(i))
	}
	for _, p := range slices.Concat(t.spec.InPlace, t.spec.InPlaceGrads) {
		if n := t.placed[p]; n.seen && !n.fits {
			t.report(p.Of.Span(), "%s of %s lies in the place of %s according to the spec, but they differ in size at all examples", p.Slot, t.op.Name, p.Of.V)
		}
	}
}

// inPlace infers in-place pairs: results that may reuse the memory of an operand at every example, where
// both have the same size.
func (f *follower) inPlace() {
	if f.spec.InPlaceKey.Set() {
		return
	}
	f.spec.InPlace = f.pairs(task.KindForward, task.RoleOutput, task.RoleInput)
	for _, p := range f.pairs(task.KindForward, task.RoleOutput, task.RoleWeight) {
		// Nothing lies where a variable does, but a view of it has its elements.
		if p.View.V && !slices.ContainsFunc(f.spec.InPlace, func(q *spec.InPlace) bool { return q.Slot == p.Slot }) {
			f.spec.InPlace = append(f.spec.InPlace, p)
		}
	}
	if f.differentiable() {
		f.spec.InPlaceGrads = f.pairs(task.KindBackward, task.RoleInput, task.RoleOutput)
	}
}

// pairs returns, for each result of a task, the first operand of the same type whose memory it may reuse.
func (f *follower) pairs(k task.Kind, result, of task.Role) (pairs []*spec.InPlace) {
	m := f.op.Task(k)
	if m == nil {
		return nil
	}
	taken := map[int]bool{}
	for _, s := range f.op.Slots {
		if s.Role != result || k == task.KindBackward && scatters(m, s.Number) {
			continue
		}
		for _, x := range f.op.Slots {
			if x.Role != of || x.Variadic != s.Variadic || x.Type != s.Type || taken[x.Number] {
				continue
			}
			if best := f.shared(k, s.Number, x.Number); best >= derive.InOrder {
				at := f.taskKey(m)
				p := &spec.InPlace{Slot: s.Name, Key: at, Of: f.text(at, x.Name)}
				if best == derive.SameElements && f.moves() {
					p.View = spec.Bool{V: true, Span: at}
				}
				pairs = append(pairs, p)
				taken[x.Number] = true
				break
			}
		}
	}
	return pairs
}

// moves reports whether the formula only copies elements. Otherwise the order of elements at the examples
// proves nothing about other attributes and extents.
func (f *follower) moves() bool {
	p, err := program.Parse(f.op.Operator.Formula)
	return err == nil && p.Moves()
}

// shared returns the sharing of two tensors that holds at all examples.
func (f *follower) shared(k task.Kind, slot, of int) derive.Sharing {
	best, told := derive.SameElements, false
	for _, v := range f.views {
		s, ok, evidence := v.sharing(k, slot, of)
		if !ok {
			return derive.Apart
		}
		best, told = min(best, s), told || evidence
	}
	if !told {
		return derive.Apart
	}
	return best
}

// scatters reports whether a task scatter-adds into the gradient of a slot.
func scatters(m *model.Task, slot int) bool {
	for _, p := range m.Params {
		if p.Grad && p.Slot.Number == slot && p.Scatter {
			return true
		}
	}
	return false
}
