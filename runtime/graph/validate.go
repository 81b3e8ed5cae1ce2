package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Validate checks each step of a program: it must be exactly one operation, of a valid phase, on tensors of
// the required types and shapes. The error names the program, the number of the step and, for an invocation,
// the node, operator, task and slot. The planner checks the data flow between steps.
func (p *Program) Validate() error {
	for i := range p.Steps {
		if err := p.Steps[i].validate(); err != nil {
			return fmt.Errorf("program %s, step %d: %w", p.Name, i, err)
		}
	}
	for _, list := range []struct {
		what    string
		tensors []Tensor
	}{{"fed", p.Fed}, {"fetched", p.Fetched}, {"variables", p.Variables}} {
		for _, t := range list.tensors {
			if !t.Valid() {
				return fmt.Errorf("program %s: want tensors that are %s, got no tensor", p.Name, list.what)
			}
		}
	}
	return nil
}

// validate checks a step.
func (s *Step) validate() error {
	var set []string
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"an invocation", s.Invocation != nil}, {"a fill", s.Fill != nil}, {"an add", s.Add != nil}, {"a copy", s.Copy != nil},
		{"an all_reduce", s.AllReduce != nil},
	} {
		if o.set {
			set = append(set, o.name)
		}
	}
	switch {
	case len(set) == 0:
		return errors.New("want one operation, got none")
	case len(set) > 1:
		return fmt.Errorf("want one operation, got %s", strings.Join(set, " and "))
	case int(s.Phase) >= len(phases):
		return fmt.Errorf("want a phase from %s to %s, got number %d", phases[0], phases[len(phases)-1], s.Phase)
	case s.Fill != nil && !s.Fill.Tensor.Valid():
		return errors.New("want a tensor to fill, got none")
	case s.Add != nil:
		return alike("add", s.Add.To, s.Add.From)
	case s.Copy != nil:
		return alike("copy", s.Copy.To, s.Copy.From)
	case s.AllReduce != nil:
		return alike("all_reduce", s.AllReduce.Tensors...)
	case s.Invocation != nil:
		return s.Invocation.validate()
	}
	return nil
}

// alike returns an error unless there are tensors, all of one type and shape.
func alike(operation string, tensors ...Tensor) error {
	if len(tensors) == 0 {
		return fmt.Errorf("want tensors for %s, got none", operation)
	}
	first := tensors[0]
	for _, t := range tensors {
		if !t.Valid() {
			return fmt.Errorf("want tensors for %s, got no tensor", operation)
		}
		if t.Type() != first.Type() || !t.ShapeIs(first.operand.Shape) {
			return fmt.Errorf("want tensors of one type and shape for %s, got %v and %v", operation, first, t)
		}
	}
	return nil
}

// validate checks an invocation, which may have been made without a Binding.
func (inv *Invocation) validate() error {
	switch {
	case inv.Node == nil || inv.Node.Op == nil || inv.Node.Resolved == nil:
		return errors.New("want an invocation of a node of a graph, got one of none")
	case inv.Signature == nil:
		return fmt.Errorf("node %s: %w", inv.Node.Name,
			&op.Error{Operator: inv.Node.Op.FullName(), Want: "a task of the operator", Got: "none"})
	case !slices.Contains(inv.Node.Op.Signatures, inv.Signature):
		return fmt.Errorf("node %s: %w", inv.Node.Name,
			&op.Error{Operator: inv.Node.Op.FullName(), Want: "a task of the operator", Got: "another: " + inv.Signature.Task})
	}
	err := inv.check()
	if err == nil {
		return nil
	}
	// The error of a violated constraint is more precise than that of a shape.
	if len(inv.Operands) == len(inv.Signature.Params) {
		if _, broken := inv.Limits(); broken != nil {
			err = broken
		}
	}
	return fmt.Errorf("node %s: %w", inv.Node.Name, err)
}

// check returns an error for the first slot whose tensors or values violate the operator's rules.
func (inv *Invocation) check() error {
	sig, res := inv.Signature, inv.Node.Resolved
	for i := range sig.Args {
		if a := &sig.Args[i]; a.From == task.FromCall {
			if err := a.Check(sig, inv.Passed[a.Slot]); err != nil {
				return err
			}
		}
	}
	fail := func(slot int, want, got string) error {
		name := ""
		if slot >= 0 {
			name = sig.Operator.Slots[slot].Name
		}
		return &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task, Slot: name, Want: want, Got: got}
	}
	if len(inv.Operands) != len(sig.Params) {
		return fail(-1, fmt.Sprintf("tensors for %d parameters", len(sig.Params)), fmt.Sprint(len(inv.Operands)))
	}
	for i, p := range sig.Params {
		if p.Perm == perm.Scratch {
			continue // the planner provides it
		}
		want, got := res.Operands(p.Slot), inv.Operands[i]
		wanted := !p.Grad || p.Perm.Reads() // computed gradients may be unused
		if len(got) == 0 && (len(want) == 0 || p.Optional || !wanted) {
			continue
		}
		if len(got) != len(want) {
			return fail(p.Slot, count(len(want)), count(len(got)))
		}
		for k := range got {
			if !got[k].Valid() && !wanted {
				continue
			}
			if w := want[k]; w.Type != got[k].Type() || !got[k].ShapeIs(w.Shape) {
				return fail(p.Slot, w.String(), got[k].String())
			}
		}
	}
	return nil
}
