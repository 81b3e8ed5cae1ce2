package example

import (
	"slices"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/shape"
)

// elementwise reports whether a task or a step is elementwise over indices, according to the formula. ok is
// false if this use is no evidence.
func (v *view) elementwise(t *model.Task, indices int) (holds, ok bool) {
	statements := v.statements(t.Kind)
	if statements == nil || indices < 2 {
		return false, false
	}
	p, all := v.tensors(t.Kind), v.results(t.Kind)
	results, others := all, func(int) bool { return false }
	if len(t.Steps) > 1 { // each step defines the tensors of its size
		results = func(tensor int) bool { return all(tensor) && derive.Size(p.Tensors[tensor]) == indices }
		others = func(tensor int) bool { return all(tensor) && !results(tensor) }
		if !slices.ContainsFunc(statements, func(s *program.Statement) bool { return results(s.Target) }) {
			return false, false
		}
	}
	return derive.Elementwise(p, statements, indices, results, others), true
}

// checkElementwise checks the tasks and steps that are stated to be elementwise.
func (t *trial) checkElementwise(v *view) {
	for i, m := range v.op.Tasks {
		steps, indices := v.running(m)
		for k, s := range steps {
			if !s.Elementwise {
				continue
			}
			at := t.spec.Tasks[i].Elementwise.Span
			for _, x := range t.spec.Tasks[i].Steps {
				if x.Name == s.Name {
					at = x.Elementwise.Span
				}
			}
			n := indices[k]
			if s.Loops {
				var same bool
				if n, same = v.use.written(m); !same {
					if _, seen := t.shown[at]; !seen {
						t.shown[at] = taskName(m, s)
					}
					continue // sizes differ, so the loops split each tensor into shares
				}
			}
			t.shown[at] = ""
			if n > 1 && !v.counted(m, n) {
				t.contradict(at, "%s of %s gives elements one by one according to the spec, but no tensor that it gives has %d, as many as there are indices",
					v, taskName(m, s), v.op.Name, n)
			}
			if holds, ok := v.elementwise(m, n); ok && !holds {
				t.contradict(at, "%s of %s touches index i only of tensors with %d elements according to the spec, but others according to the formula",
					v, taskName(m, s), v.op.Name, n)
			}
		}
	}
}

// checkShown reports tasks that are stated to work element by element, which loops do at no example: their
// sizes differ.
func (t *trial) checkShown() {
	for at, task := range t.shown {
		if task == "" {
			continue
		}
		d := t.report(at, "%s of %s works element by element according to the spec, but gives tensors of several sizes at all examples, so its loops go over shares",
			task, t.op.Name)
		if d != nil {
			d.Hinted("leave elementwise out, or give an example at which what it gives has one size")
		}
	}
}

// counted reports whether a task writes a tensor of n elements.
func (v *view) counted(m *model.Task, n int) bool {
	for _, p := range m.Params {
		for _, x := range v.use.tensors[p.Slot.Number] {
			if p.Perm.Writes() && shape.Prod(x.Shape) == n {
				return true
			}
		}
	}
	return false
}

// taskName returns TASK or TASK.STEP.
func taskName(t *model.Task, s *model.Step) string {
	if s.Name == "" {
		return t.Name
	}
	return t.Name + "." + s.Name
}
