package formula

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

func init() { task.CheckGradients(checkGradient) }

// checkGradient returns an error if an operator that computes gradients of another one cannot be built for a
// use, or cannot be differentiated itself.
func checkGradient(o *task.Operator, r *task.Resolution) error {
	u, err := useOf(o, r.Attrs, r, 0, zeros(o))
	if err != nil {
		return mistake(o.FullName(), err.Error())
	}
	p, err := program.Build(u)
	if err != nil {
		return mistake(o.FullName(), err.Error())
	}
	var outputs []int
	for t, l := range p.Tensors {
		if l.Slot >= 0 && l.Given && l.Varies {
			outputs = append(outputs, t)
		}
	}
	if _, err := derive.Gradients(p, outputs); err != nil {
		return mistake(o.FullName(), err.Error())
	}
	return nil
}

// gradientUse returns the use of an operator o that computes the gradients of another operator: the use of
// that operator, with its program replaced by the derived gradient.
func gradientUse(o *task.Operator, attrs task.Attrs, r *task.Resolution, seed int, passed *task.Passed) (*program.Use, error) {
	of := o.Gradient.Of
	values := map[int][]any{}
	for i, from := range o.Gradient.Slots {
		if v := passed.Values(i); o.Slots[i].Role == task.RoleArgument && v != nil {
			values[from.Slot] = v
		}
	}
	u, err := useOf(of, attrs, r.Of, seed, task.NewPassed(values))
	if err != nil {
		return nil, err
	}
	inner := u.Then
	u.Operator = o.FullName()
	u.Then = func(p *program.Program) (*program.Program, error) {
		if inner != nil {
			var err error
			if p, err = inner(p); err != nil {
				return nil, err
			}
		}
		return gradientProgram(o, r, p)
	}
	return u, nil
}

// gradientProgram returns the program of an operator o that computes gradients. p is the program of the
// operator that is differentiated. The gradients of its outputs and inputs become tensors of the slots of o.
// Forward results that the gradients need are recomputed.
func gradientProgram(o *task.Operator, r *task.Resolution, p *program.Program) (*program.Program, error) {
	slotOf := func(t int, grad bool) int {
		l := p.Tensors[t]
		if l.Slot < 0 {
			return -1
		}
		at := o.Gradient.Slot(task.GradientSlot{Slot: l.Slot, Grad: grad})
		if at < 0 || l.Number >= len(r.Operands(at)) {
			return -1
		}
		return at
	}
	var outputs []int
	for t, l := range p.Tensors {
		if at := slotOf(t, true); at >= 0 && o.Slots[at].Role == task.RoleInput && l.Old < 0 && l.Kind == term.Real {
			outputs = append(outputs, t)
		}
	}
	d, err := derive.Gradients(p, outputs)
	if err != nil {
		return nil, err
	}
	q := *d.Program
	q.Grads, q.Backward = nil, nil
	q.Tensors = slices.Clone(q.Tensors)
	for t, l := range q.Tensors {
		own := *l
		q.Tensors[t] = &own
		if t < len(p.Tensors) {
			own.Slot = slotOf(t, false)
			own.Varies = own.Slot >= 0 && o.Slots[own.Slot].Trainable && own.Kind == term.Real
			if own.Passed != nil {
				passed := *own.Passed
				passed.Slot = o.Gradient.Slot(task.GradientSlot{Slot: passed.Slot})
				own.Passed = &passed
			}
		}
	}
	need := make([]bool, len(q.Tensors))
	for t, id := range d.Of {
		at := slotOf(t, true)
		g := q.Tensors[id]
		if at < 0 {
			continue // not asked for
		}
		g.Slot, g.Number = at, p.Tensors[t].Number
		if o.Slots[at].Role == task.RoleInput {
			g.Given, g.Varies = false, true
		} else {
			need[id] = true
		}
	}
	for t, l := range p.Tensors {
		if _, ok := d.Of[t]; ok || l.Old >= 0 {
			continue
		}
		if at := slotOf(t, true); at >= 0 && o.Slots[at].Role == task.RoleOutput { // no gradient reaches it: it is 0
			q.Add(&program.Local{Name: "grad." + l.Name, Shape: l.Shape, Kind: term.Real, Old: -1, Given: true})
			last := q.Tensors[len(q.Tensors)-1]
			last.Slot, last.Number = at, l.Number
			need = append(need, true)
		}
	}
	if q.Statements, err = program.Needed(q.Statements, need, func(int) bool { return false }); err != nil {
		return nil, err
	}
	for t, l := range q.Tensors {
		if need[t] && l.Old >= 0 {
			return nil, fmt.Errorf("the gradient reads %s as it was before the task, which a later task cannot", l.Name)
		}
	}
	vary(&q)
	return &q, nil
}

// vary marks the tensors that have gradients because they depend on a tensor with a gradient.
func vary(p *program.Program) {
	for i := range p.Statements {
		block := program.Together(p.Statements, i)
		for range block {
			for _, s := range block {
				t := p.Tensors[s.Target]
				t.Given = true
				t.Varies = t.Varies || t.Kind == term.Real && p.Depends(s.Value)
			}
		}
	}
}
