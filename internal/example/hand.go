package example

import (
	"errors"
	"strings"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// comparing bounds the operations of the comparisons of gradients by hand with derived ones, at all examples
// of an operator. An example may take half of what those before it left, so that a small one has enough
// behind large ones. A check of them takes less than a second also where other programs run.
const comparing = 3 << 25

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
	share := t.compare / 2
	left := share
	differences, err := formula.Differences(u.result(), formula.Draw{
		Bound:    func(slot int) task.Bound { return u.bound(t.op.Slots[slot]) },
		IsOutput: func(slot int) bool { return t.op.Slots[slot].Role == task.RoleOutput },
		Left:     &left,
	})
	t.compare -= share - left
	if errors.Is(err, formula.ErrLimit) {
		for _, s := range lines {
			t.large = append(t.large, t.spec.Formula.Node.Within(s.Pos, s.Targets[0].End()))
		}
		return
	}
	t.compared = true
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

// checkCompared reports gradients by hand of which no example is small enough to compare them.
func (t *trial) checkCompared() {
	if t.compared {
		return
	}
	for _, at := range t.large {
		if r := t.report(at, "no example is small enough to compare this gradient with the derived one: that takes more than %d operations", comparing/2); r != nil {
			r.Hinted("add an example with small extents")
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
