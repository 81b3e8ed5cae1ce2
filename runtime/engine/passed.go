package engine

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

// SetArg gives an argument that the caller passes, of all tasks of a node, new values from the next run on.
// There must be as many of them as in the plan, and of the same types. The plan itself stays as it is: it
// keeps the values with which every instance begins.
func (in *Instance) SetArg(node, slot string, values ...any) error {
	if err := in.lock(); err != nil {
		return err
	}
	defer in.engine.mu.Unlock()
	calls, err := in.takers(node, slot)
	if err != nil {
		return err
	}
	for _, t := range calls {
		err := t.arg.Check(t.call.Signature, values)
		if have := len(t.call.Passed.Values(t.arg.Slot)); err == nil && len(values) != have {
			err = &op.Error{Operator: t.call.Signature.Operator.FullName(), Task: t.call.Signature.Task, Slot: slot,
				Want: fmt.Sprintf("%d values, as in the plan", have), Got: fmt.Sprint(len(values))}
		}
		if err != nil {
			return fmt.Errorf("engine: plan %s, node %s: %w", in.plan.Name, node, err)
		}
	}
	for _, t := range calls {
		copied, err := t.copy(values)
		if err != nil {
			return fmt.Errorf("engine: plan %s, node %s: %w", in.plan.Name, node, err)
		}
		t.call.Passed.Set(t.arg.Slot, copied)
	}
	return nil
}

// Arg returns the values that an argument has which the caller passes.
func (in *Instance) Arg(node, slot string) ([]any, error) {
	if err := in.lock(); err != nil {
		return nil, err
	}
	defer in.engine.mu.Unlock()
	calls, err := in.takers(node, slot)
	if err != nil {
		return nil, err
	}
	return slices.Clone(calls[0].call.Passed.Values(calls[0].arg.Slot)), nil
}

// taker is a call with an argument that the caller passes.
type taker struct {
	call *Call
	arg  *task.Arg
}

// copy returns values that share no memory with those that are given: what a plan with them would hold.
func (t *taker) copy(values []any) ([]any, error) {
	data, err := t.arg.Encode(values)
	if err != nil {
		return nil, err
	}
	return t.arg.Decode(t.call.Signature, data)
}

// takers returns the calls of a node that take an argument which the caller passes.
func (in *Instance) takers(node, slot string) ([]taker, error) {
	if in.data == nil {
		return nil, errInstanceClosed
	}
	var out []taker
	var of *Call // of the node
	for i, c := range in.calls {
		if c == nil || in.plan.Calls[i].Node != node {
			continue
		}
		of = c
		if s := c.Signature.Operator.SlotNamed(slot); s >= 0 {
			if a := c.Signature.Arg(s); a != nil && a.From == task.FromCall {
				out = append(out, taker{c, a})
			}
		}
	}
	switch {
	case of == nil:
		return nil, in.noNode(node)
	case len(out) == 0:
		e := &op.Error{Operator: of.Signature.Operator.FullName(), Slot: slot, Want: "an argument that the caller passes", Got: "none of this name"}
		if s := of.Signature.Operator.SlotNamed(slot); s >= 0 {
			e.Got = "a slot of role " + of.Signature.Operator.Slots[s].Role.String()
			if a := of.Signature.Arg(s); a != nil {
				e.Got = "one from " + a.From.String()
			}
		} else if n := nearest.Name(slot, passedNames(of.Signature)); n != "" {
			e.Got += fmt.Sprintf(" (did you mean %q?)", n)
		}
		return nil, fmt.Errorf("engine: plan %s, node %s: %w", in.plan.Name, node, e)
	}
	return out, nil
}

// noNode is the error for a name that no node of the plan has.
func (in *Instance) noNode(name string) error {
	var names []string
	for i := range in.plan.Calls {
		names = append(names, in.plan.Calls[i].Node)
	}
	hint := ""
	if n := nearest.Name(name, names); n != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", n)
	}
	return fmt.Errorf("engine: plan %s has no node %s%s", in.plan.Name, name, hint)
}

// passedNames lists the arguments of a task that the caller passes.
func passedNames(s *task.Signature) (names []string) {
	for _, a := range s.Args {
		if a.From == task.FromCall {
			names = append(names, s.Operator.Slots[a.Slot].Name)
		}
	}
	return names
}

// decodePassed returns the values of the arguments that the caller of a task passed, as the plan holds them.
func decodePassed(c *plan.Call, sig *task.Signature) (*task.Passed, error) {
	var values map[int][]any
	for i := range sig.Args {
		a := &sig.Args[i]
		if a.From != task.FromCall {
			continue
		}
		data, ok := c.Passed[sig.Operator.Slots[a.Slot].Name]
		if !ok {
			data = []byte("[]")
		}
		list, err := a.Decode(sig, data)
		if err != nil {
			return nil, err
		}
		if values == nil {
			values = map[int][]any{}
		}
		values[a.Slot] = list
	}
	return task.NewPassed(values), nil
}
