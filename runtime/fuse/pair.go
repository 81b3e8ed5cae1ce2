package fuse

import (
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// pair is two nodes of a program to which a rule applies.
type pair struct {
	*index
	n, m    *graph.Node // n will compute what m does
	fused   *graph.Node
	rule    *task.Fusion
	between map[int]bool // slots of n whose tensors only lie between the two
	other   map[string]int
}

// match checks whether a rule applies to two nodes, and returns the fused node. It returns nil if not.
func (x *index) match(n, m *graph.Node, rule *task.Fusion) (*pair, error) {
	q := &pair{index: x, n: n, m: m, rule: rule, between: map[int]bool{}, other: map[string]int{}}
	for i := range m.Op.Slots {
		q.other[m.Op.Slots[i].Name] = i
	}
	attrs, err := attributes(n, m, rule)
	if attrs == nil || err != nil {
		return nil, err
	}
	tensors := map[int][]graph.Tensor{}
	shared := map[int]bool{}
	for _, s := range rule.Share {
		slot := q.other[s.Other]
		shared[slot] = true
		if m.Resolved.Given().Places[slot] != nil || n.Resolved.Given().Places[s.Own] != nil {
			return nil, nil // which is no single tensor
		}
		ours, theirs := n.Tensors(s.Own), m.Tensors(slot)
		switch {
		case len(theirs) != 1:
			return nil, nil
		case len(ours) == 0 && n.Op.Slots[s.Own].Role != task.RoleOutput:
			tensors[s.Own] = theirs
		case len(ours) != 1 || ours[0].Root() != theirs[0].Root():
			return nil, nil
		case n.Op.Slots[s.Own].Role == task.RoleOutput:
			q.between[s.Own] = true
		}
	}
	var request []int
	for _, s := range rule.Make {
		slot := q.other[s.Other]
		shared[slot] = true
		if len(m.Tensors(slot)) != 1 || len(n.Tensors(s.Own)) > 0 && !q.between[s.Own] {
			return nil, nil
		}
		tensors[s.Own] = m.Tensors(slot)
		if n.Op.Slots[s.Own].OnRequest {
			request = append(request, s.Own)
		}
	}
	for slot := range m.Op.Slots {
		role := m.Op.Slots[slot].Role
		if (role == task.RoleInput || role == task.RoleOutput || role == task.RoleWeight) && !shared[slot] && len(m.Tensors(slot)) > 0 {
			return nil, nil // the rule does not cover this slot
		}
	}
	steps := []int{x.step(n, task.KindForward), x.step(m, task.KindForward), x.step(n, task.KindBackward), x.step(m, task.KindBackward)}
	for slot := range q.between {
		if !x.usedOnlyBy(n.Tensor(slot), steps...) || len(tensors[slot]) == 0 {
			return nil, nil
		}
	}
	if q.fused, err = n.Change(attrs, tensors, request...); err != nil {
		return nil, nil // shapes or types do not fit, so the rule does not apply
	}
	return q, nil
}

// rewrite replaces the steps of the two nodes, or reports that it cannot.
func (q *pair) rewrite() bool {
	nf, mf := q.step(q.n, task.KindForward), q.step(q.m, task.KindForward)
	nb, mb := q.step(q.n, task.KindBackward), q.step(q.m, task.KindBackward)
	forward := q.insertion(nf, mf)
	if forward < 0 || nb < 0 && mb >= 0 || mb < 0 && nb >= 0 && len(q.between) > 0 {
		return false
	}
	inv, err := q.fused.Invoke()
	if err != nil {
		return false
	}
	replace := map[int][]graph.Step{nf: nil, mf: nil}
	if nb >= 0 {
		at, steps := q.backward(nb, mb)
		if steps == nil {
			return false
		}
		replace[nb], replace[at] = nil, steps
		if mb >= 0 && mb != at {
			replace[mb] = nil
		}
	}
	replace[forward] = []graph.Step{{Phase: graph.Forward, Invocation: inv}}
	var out []graph.Step
	for i, s := range q.p.Steps {
		if with, ok := replace[i]; ok {
			out = append(out, with...)
		} else {
			out = append(out, s)
		}
	}
	q.p.Steps = out
	return true
}

// backward returns the backward steps of the fused node and the step in whose place they go; no steps
// if there is no such place, or their gradients do not fit.
func (q *pair) backward(nb, mb int) (at int, steps []graph.Step) {
	own := grads(q.p.Steps[nb].Invocation)
	theirs := map[int][]graph.Tensor{}
	at = nb
	if mb >= 0 {
		theirs = grads(q.p.Steps[mb].Invocation)
		if at = q.insertion(nb, mb); at < 0 {
			return at, nil
		}
	}
	for slot := range q.between {
		for _, g := range own[slot] {
			if !q.usedOnlyBy(g, nb, mb) {
				return at, nil
			}
		}
		delete(own, slot)
	}
	for _, s := range q.rule.Share {
		g := theirs[q.other[s.Other]]
		if q.between[s.Own] || !wanted(g) {
			continue
		}
		if have := own[s.Own]; wanted(have) {
			if have[0].Root() != g[0].Root() {
				return at, nil
			}
			if nb < mb {
				g = have // the first contribution says whether there are others before
			}
		}
		own[s.Own] = g
	}
	for _, s := range q.rule.Make {
		g := theirs[q.other[s.Other]]
		if mb < 0 {
			fill, zero := graph.NoGradient(q.fused.Tensor(s.Own))
			steps = append(steps, fill)
			g = []graph.Tensor{zero}
		}
		own[s.Own] = g
	}
	inv, err := q.fused.Differentiate(own)
	if err != nil {
		return at, nil
	}
	return at, append(steps, graph.Step{Phase: graph.Backward, Invocation: inv})
}
