package example

import (
	"slices"

	"github.com/opgen/opgen/internal/derive"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/program"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/task"
)

// Outputs lists the tensors of a program from whose gradients backward computes the others.
func Outputs(o *model.Operator, p *program.Program) []int {
	var out []int
	for i, l := range p.Tensors {
		if l.Slot >= 0 && l.Given && l.Varies && l.Kind == term.Real && o.Slots[l.Slot].Role == task.RoleOutput {
			out = append(out, i)
		}
	}
	return out
}

// checkSaved checks that backward is given what the gradient of the formula reads, where the formula is the kernel. A kernel
// by hand may do with other tensors. It reports a slot once.
func (u *use) checkSaved(p *program.Program, s *spec.Spec, example int, list *diag.List, reported map[string]bool) {
	backward := u.op.Task(task.KindBackward)
	if !u.op.Derived || backward == nil {
		return
	}
	g, err := derive.Gradients(p, Outputs(u.op, p))
	if err != nil {
		return // the task says so when it is bound
	}
	given := func(slot int) bool {
		return slices.ContainsFunc(backward.Params, func(p *model.Param) bool {
			return !p.Grad && p.Slot.Number == slot && (p.OnlyIf == nil || u.truth(p.OnlyIf))
		})
	}
	for _, t := range g.Missing(given) {
		name := u.op.Slots[p.Tensors[t].Slot].Name
		i := slices.IndexFunc(s.Slots, func(s *spec.Slot) bool { return s.Name == name })
		if reported[name] || i < 0 || s.Slots[i].Saved == nil {
			continue
		}
		reported[name] = true
		list.Add(diag.BadFormula, source.SpanOf(s.Slots[i].Saved), "the gradient of the formula reads %s, which backward is not given, as in example %d of %s",
			name, example+1, u.op.Name).Hinted("leave out saved")
	}
}
