package example

import (
	"github.com/opgen/opgen/internal/source"
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
