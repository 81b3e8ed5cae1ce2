package example

import (
	"strings"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// checkGradients compares the gradients that the formula defines by hand with derived ones, numerically at
// example i. It reports a difference at the line of the gradient. A surrogate may differ.
func (t *trial) checkGradients(u *use, i int) {
	if !strings.Contains(t.spec.Formula.V, "grad.") {
		return
	}
	lines := map[string]*expr.Statement{}
	f, _ := expr.ParseFormula(t.spec.Formula.V)
	for _, s := range f.Statements {
		if name := s.Gradient(); name != "" && !s.Surrogate && lines[name] == nil {
			lines[name] = s
		}
	}
	if len(lines) == 0 {
		return
	}
	differences, err := formula.Differences(u.result(), formula.Draw{
		Bound:    func(slot int) task.Bound { return u.bound(t.op.Slots[slot]) },
		IsOutput: func(slot int) bool { return t.op.Slots[slot].Role == task.RoleOutput },
	})
	if err != nil {
		for _, s := range lines {
			t.report(t.spec.Formula.Node.Within(s.Pos, s.Targets[0].End()), "this gradient cannot be compared with the derived one in example %d: %v", i, err)
		}
		return
	}
	for _, d := range differences {
		if s := lines[t.op.Slots[d.Slot].Name]; s != nil {
			if r := t.report(t.spec.Formula.Node.Within(s.Pos, s.Targets[0].End()), "this is not the gradient: in example %d, %v", i, d); r != nil {
				r.Hinted("a gradient that is not the derivative says so: ... as surrogate")
			}
		}
	}
}

// bound returns the bound of the integers in a slot: 2 if the spec states none.
func (u *use) bound(s *model.Slot) task.Bound {
	b := task.Bound{Below: 2}
	if s.BelowX != nil {
		b.Below = u.integer(s.BelowX)
	}
	if s.ExceptX != nil {
		b.Except, b.HasExcept = u.integer(s.ExceptX), true
	}
	return b
}
