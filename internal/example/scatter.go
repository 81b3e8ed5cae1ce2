package example

import (
	"slices"

	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// noteScatter records which gradients have scatter-adds according to the formula.
func (t *trial) noteScatter(v *view) {
	if v.gradient == nil {
		return
	}
	for tensor := range v.gradient.Of {
		l := v.program.Tensors[tensor]
		if v.op.Slots[l.Slot].Role == task.RoleOutput {
			continue
		}
		n := t.gradients[l.Slot]
		n.seen = true
		if v.gradient.Scatter[tensor] && n.scattered == nil {
			n.scattered = v
		}
		t.gradients[l.Slot] = n
	}
}

// scatters infers which gradients backward adds to element by element: those to which the formula adds at
// some example, of an operator without a kernel by hand.
func (f *follower) scatters() {
	m := f.op.Task(task.KindBackward)
	i := slices.IndexFunc(f.spec.Tasks, func(t *spec.Task) bool { return t.Name == "backward" })
	if m == nil || i < 0 || !f.op.Derived {
		return
	}
	t := f.spec.Tasks[i]
	for _, p := range m.Params {
		stated := func(g *spec.Access) bool { return g.Slot == p.Slot.Name }
		adds := func(v *view) bool { return v.scatters(p.Slot.Number) }
		if p.Grad && p.Slot.Role != task.RoleOutput && !slices.ContainsFunc(t.Grads, stated) && slices.ContainsFunc(f.views, adds) {
			t.Grads = append(t.Grads, &spec.Access{Slot: p.Slot.Name, Key: t.Key, Value: f.text(t.Key, "scatter")})
		}
	}
}

// scatters reports whether the gradient of a slot has scatter-adds in a use.
func (v *view) scatters(slot int) bool {
	if v.gradient == nil {
		return false
	}
	for tensor := range v.gradient.Of {
		if v.program.Tensors[tensor].Slot == slot && v.gradient.Scatter[tensor] {
			return true
		}
	}
	return false
}

// scattering is the evidence of the examples about the gradient of a slot.
type scattering struct {
	seen      bool
	scattered *view // an example at which the gradient has scatter-adds, or nil
}

// checkScatter checks which gradients are stated as scatter-adds. A kernel by hand may accumulate in another
// way and write each element once, but has no reason to scatter where the formula does not.
func (t *trial) checkScatter() {
	m := t.op.Task(task.KindBackward)
	if m == nil {
		return
	}
	for _, p := range m.Params {
		n := t.gradients[p.Slot.Number]
		if !p.Grad || p.Slot.Role == task.RoleOutput || !n.seen {
			continue
		}
		switch {
		case p.Scatter && n.scattered == nil:
			r := t.report(t.gradKey(p.Name), "backward of %s adds to the gradient of %s according to the spec, but gives each element once according to the formula, at all examples",
				t.op.Name, p.Name)
			if r != nil {
				r.Hinted("leave %s out of grads", p.Name)
			}
		case !p.Scatter && n.scattered != nil && t.op.Derived:
			r := t.contradict(t.gradKey(p.Name), "backward of %s gives each element of the gradient of %s once according to the spec, but adds to some according to the formula",
				n.scattered, t.op.Name, p.Name)
			if r != nil {
				r.Hinted("write in [tasks.backward]: grads = { %s = \"scatter\" }", p.Name)
			}
		}
	}
}

// gradKey returns the position in the spec that states how a gradient is written, else that of the backward
// task.
func (t *trial) gradKey(slot string) source.Span {
	var at source.Span
	for _, x := range t.spec.Tasks {
		if x.Name != "backward" {
			continue
		}
		at = x.Key
		for _, g := range x.Grads {
			if g.Slot == slot {
				at = g.Value.Span()
			}
		}
	}
	return at
}
