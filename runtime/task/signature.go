package task

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
)

// Constraints are what a task declares about how its launches partition stores. The zero Constraints
// declare nothing: the caller may add constraints. A declared list
// is final, even an empty one.
type Constraints struct {
	Declared bool                   `json:"declared"`
	List     []partition.Constraint `json:"list"`
}

// gradPrefix stands before the name of a slot where its gradient is meant: grad.input.
const gradPrefix = "grad."

// GroupOf returns the group of a parameter with permission p; ok is false if a launch does not pass
// it.
func GroupOf(p perm.Perm) (g partition.Group, ok bool) {
	switch p {
	case perm.Read:
		return partition.Inputs, true
	case perm.Write, perm.ReadWrite:
		return partition.Outputs, true
	case perm.Reduce:
		return partition.Redops, true
	}
	return 0, false
}

// ParamName returns the name of parameter i in constraints and messages: the name of its slot, or grad.SLOT
// for a gradient.
func (s *Signature) ParamName(i int) string {
	name := s.Operator.Slots[s.Params[i].Slot].Name
	if s.Params[i].Grad {
		return gradPrefix + name
	}
	return name
}

// Declaration returns what the task declares about its launches. Which group a parameter belongs to
// follows from the task's permission for it, how many tensors go into it from its slot.
func (s *Signature) Declaration() *partition.Declaration {
	var slots []partition.DeclaredSlot
	for i, p := range s.Params {
		g, ok := GroupOf(p.Perm)
		slot := &s.Operator.Slots[p.Slot]
		if !ok || slot.Role == RoleState { // an engine keeps state, launches do not pass it
			continue
		}
		unwanted := p.Grad && p.Perm.Writes() // an unused gradient is not passed
		slots = append(slots, partition.DeclaredSlot{Name: s.ParamName(i), Group: g, Arity: slot.Holds(p.Optional || unwanted)})
	}
	for _, a := range s.Args {
		slot := &s.Operator.Slots[a.Slot]
		slots = append(slots, partition.DeclaredSlot{Name: slot.Name, Group: partition.Scalars, Arity: slot.Holds(false), Provided: a.From != FromCall})
	}
	d := partition.NewDeclaration(s.Name(), slots...)
	if s.Constraints.Declared {
		d.SetConstraints(s.Constraints.List...)
	}
	return d
}

// Holds returns how many tensors, or values of an argument, a slot holds. absent tells that a slot that
// is not optional may hold none, too.
func (s *Slot) Holds(absent bool) partition.Arity {
	lo, hi := 1, 1
	if s.Variadic {
		if lo, hi = s.Min, s.Max; hi == Unbounded {
			hi = partition.Unlimited
		}
	}
	if s.Optional || absent {
		lo = 0
	}
	switch {
	case lo == 0 && hi == partition.Unlimited:
		return partition.Arity{}
	case lo == hi:
		return partition.Exactly(lo)
	}
	return partition.Between(lo, hi)
}

// Validate checks that a signature makes sense: its parameters and arguments are slots of its
// operator, each once, and its constraints do not contradict each other. It is called when the task is
// registered.
func (s *Signature) Validate() error {
	fail := func(slot, want, got string) error {
		return &op.Error{Operator: s.Operator.FullName(), Task: s.Task, Slot: slot, Want: want, Got: got}
	}
	n := len(s.Operator.Slots)
	seen := map[Param]bool{}
	for i, p := range s.Params {
		if p.Slot < 0 || p.Slot >= n {
			return fail("", fmt.Sprintf("parameters of slots 0 to %d", n-1), fmt.Sprint(p.Slot))
		}
		name, role := s.ParamName(i), s.Operator.Slots[p.Slot].Role
		if role == RoleArgument {
			return fail(name, "a slot of tensors, or of state, as a parameter", "one of role "+role.String())
		}
		if (p.Perm == perm.Reduce) != (p.Redop != perm.NoRedop) {
			return fail(name, "a reduction operator with permission reduce, and with no other", fmt.Sprintf("permission %v with operator %q", p.Perm, p.Redop))
		}
		key := Param{Slot: p.Slot, Grad: p.Grad}
		if seen[key] {
			return fail(name, "one parameter for each slot", "a second one")
		}
		seen[key] = true
	}
	for i, a := range s.Args {
		if a.Slot < 0 || a.Slot >= n {
			return fail("", fmt.Sprintf("arguments of slots 0 to %d", n-1), fmt.Sprint(a.Slot))
		}
		if err := a.check(s, s.Args[:i]); err != nil {
			return err
		}
	}
	for i, slot := range s.Returns {
		if s.Kind != KindInit || slot < 0 || slot >= n || s.Operator.Slots[slot].Role != RoleState || slices.Contains(s.Returns[:i], slot) {
			return fail("", "an init task to return slots of role state, each once", fmt.Sprintf("slot %d of a %v task", slot, s.Kind))
		}
	}
	return s.Declaration().Validate()
}
