package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// gradients declares the tensors grad.NAME if the formula mentions gradients. Those of outputs are inputs of
// backward, and statements may define those of inputs and weights.
func (f *formula) gradients() {
	if !strings.Contains(f.text, "grad.") {
		return
	}
	for _, t := range slices.Clone(f.order) {
		role := map[string]string{"input": "output", "weight": "output", "output": "input"}[t.slot.Role]
		if t.slot.Variadic != nil || t.kinds&kFloat == 0 || role == "" {
			continue
		}
		sl := *t.slot
		sl.Name, sl.Role, sl.Below, sl.Except = "grad."+sl.Name, role, "", ""
		f.tensors[sl.Name] = &tensor{name: sl.Name, slot: &sl, elems: t.elems, known: t.known, kinds: kFloat}
	}
}

// isGradient reports whether t is a tensor grad.NAME.
func (t *tensor) isGradient() bool { return strings.HasPrefix(t.name, "grad.") }

// gradient checks a statement that defines a gradient, such as grad.x[n, k] = ...: the operator needs a
// backward task, and the slot must be trainable.
func (f *formula) gradient(s *expr.Statement, t *tensor) *expr.Error {
	n, name := s.Targets[0], s.Gradient()
	i := slices.IndexFunc(f.s.Slots, func(sl *Slot) bool { return sl.Name == name })
	switch {
	case i < 0 || !t.isGradient():
		return nil
	case !f.s.Backward:
		return failf(n, expr.BadFormula, "there is no task backward, so nothing takes %s", t.name)
	case !f.s.Slots[i].Trainable:
		return failf(n, expr.BadFormula, "%s is not trainable, so nothing takes %s", name, t.name)
	}
	return nil
}

// noGradients returns an error if a statement for the forward task reads a gradient.
func (f *formula) noGradients(s *expr.Statement, targets []*tensor) (err *expr.Error) {
	if !slices.ContainsFunc(targets, func(t *tensor) bool { return t.slot != nil && !t.isGradient() }) {
		return nil
	}
	expr.Walk(s.X, func(n expr.Node) {
		if r, ok := n.(*expr.Read); ok && err == nil && f.tensors[r.Name] != nil && f.tensors[r.Name].isGradient() {
			err = failf(r, expr.BadFormula, "%s is there for backward only, and forward computes %s", r.Name, targets[0].name)
		}
	})
	return err
}
