package engine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// misfit is an error about a call that does not keep to the signature of its task.
func misfit(sig *task.Signature, slot, want, got string) error {
	return &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task, Slot: slot, Want: want, Got: got}
}

// slotName returns the name of the slot of a parameter, as plans write it.
func slotName(sig *task.Signature, param int) string {
	p := &sig.Params[param]
	if p.Grad {
		return plan.GradOf + sig.Operator.Slots[p.Slot].Name
	}
	return sig.Operator.Slots[p.Slot].Name
}

// namesSlots reports whether a call names the slots of the parameters of its task.
func namesSlots(c *plan.Call, sig *task.Signature) bool {
	if len(c.Slots) != len(sig.Params) {
		return false
	}
	for i, name := range c.Slots {
		p := &sig.Params[i]
		if p.Grad {
			var ok bool
			if name, ok = strings.CutPrefix(name, plan.GradOf); !ok {
				return false
			}
		}
		if name != sig.Operator.Slots[p.Slot].Name {
			return false
		}
	}
	return true
}

// checkNames checks that a call names its operator and its task as they are registered, and no other slots
// than those of the operator.
func checkNames(c *plan.Call, sig *task.Signature) error {
	operator := sig.Operator
	if c.Operator != operator.FullName() || c.Task != sig.Task {
		return misfit(sig, "", "a call of this task", "one of "+c.Operator+"."+c.Task)
	}
	if len(c.Slots) > 0 && !namesSlots(c, sig) {
		slots := make([]string, len(sig.Params))
		for i := range sig.Params {
			slots[i] = slotName(sig, i)
		}
		return misfit(sig, "", fmt.Sprintf("the slots %q", slots), fmt.Sprintf("%q", c.Slots))
	}
	known := func(name string) error {
		if operator.SlotNamed(name) < 0 {
			return misfit(sig, name, "a slot of the operator", "none of this name")
		}
		return nil
	}
	var err error
	note := func(name string) {
		if err == nil {
			err = known(name)
		}
	}
	for name := range c.Given {
		note(name)
	}
	for _, name := range c.Requested {
		note(name)
	}
	for name := range c.Values {
		note(name)
	}
	for name := range c.Wholes {
		note(name)
	}
	for name, places := range c.Places {
		if note(name); err == nil && len(places) == 0 {
			err = misfit(sig, name, "the places of tensors", "none")
		}
	}
	for name := range c.Passed {
		if note(name); err != nil {
			break
		}
		if a := sig.Arg(operator.SlotNamed(name)); a == nil || a.From != task.FromCall {
			err = misfit(sig, name, "an argument that the caller passes", "another slot")
		}
	}
	return err
}

// checkValues checks what a call says besides its tensors against its resolved operator.
func checkValues(c *plan.Call, sig *task.Signature, res *task.Resolution) error {
	if len(c.Types) > 0 && !slices.Equal(c.Types, res.Types) {
		return misfit(sig, "", fmt.Sprintf("the element types %v", res.Types), fmt.Sprint(c.Types))
	}
	seeded := slices.ContainsFunc(sig.Args, func(a task.Arg) bool { return a.From == task.FromSeed })
	if c.Seed != 0 && !seeded {
		return misfit(sig, "", "no seed, since the task draws no random numbers", fmt.Sprint(c.Seed))
	}
	return nil
}

// checkParams checks that the tensors of a call have the numbers, types and shapes that the rules of the
// operator give.
func (in *Instance) checkParams(c *plan.Call, sig *task.Signature, res *task.Resolution) error {
	if len(c.Params) != len(sig.Params) {
		return misfit(sig, "", fmt.Sprintf("%d parameters", len(sig.Params)), fmt.Sprint(len(c.Params)))
	}
	number := slices.Index(sig.Operator.Signatures, sig)
	for i, p := range sig.Params {
		slot := &sig.Operator.Slots[p.Slot]
		want := res.Operands(p.Slot)
		switch n := len(c.Params[i]); {
		case slot.PerWorker:
			want = nil
		case n == 0 && p.Perm == perm.Scratch && sig.Kind == task.KindInit: // the engine allocates it
			continue
		case n == 0 && p.Perm != perm.Scratch && (p.Optional || p.Grad && p.Perm.Writes() || !res.Takes(number, p.Slot)):
			continue
		}
		if len(c.Params[i]) != len(want) {
			return misfit(sig, slot.Name, tensors(len(want)), fmt.Sprint(len(c.Params[i])))
		}
		for k, b := range c.Params[i] {
			if err := in.checkTensor(sig, &p, b, want[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// tensors formats a number of tensors.
func tensors(n int) string {
	if n == 1 {
		return "1 tensor"
	}
	return fmt.Sprintf("%d tensors", n)
}

// checkTensor checks a tensor of a parameter.
func (in *Instance) checkTensor(sig *task.Signature, p *task.Param, b plan.Bound, operand task.Operand) error {
	slot := &sig.Operator.Slots[p.Slot]
	contributes := p.Grad && p.Perm.Writes()
	if b.Root == plan.NoRoot {
		if !contributes {
			return misfit(sig, slot.Name, "a tensor", "none")
		}
		return nil
	}
	root := &in.plan.Roots[b.Root]
	if got, want := in.plan.Operand(b), in.engine.target.Operand(operand); got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return misfit(sig, slot.Name, want.String(), root.Name+" "+got.String())
	}
	if b.Shape != nil && shape.Prod(b.Shape) != shape.Prod(root.Shape) {
		return misfit(sig, slot.Name, fmt.Sprintf("a view of all of %s %v", root.Name, root.Operand()), fmt.Sprint(b.Shape))
	}
	want := []tensor.Mode{tensor.Discard}
	switch {
	case contributes && p.Scatter:
		want = []tensor.Mode{tensor.Accumulate}
	case contributes:
		want = []tensor.Mode{tensor.Store, tensor.Accumulate}
	}
	if !slices.Contains(want, b.Mode) {
		return misfit(sig, slot.Name, fmt.Sprintf("a tensor of mode %v", want), fmt.Sprint(b.Mode))
	}
	return nil
}

// checkInPlace checks that the operator permits each pair of tensors that share memory, and that they do.
func checkInPlace(c *plan.Call, sig *task.Signature) error {
	grad := sig.Kind == task.KindBackward
	for _, pair := range c.InPlace {
		if !permitted(c, sig, pair, grad) {
			return misfit(sig, "", "only tensors in place that the operator permits", fmt.Sprintf("tensor %d of parameter %d in place of that of %d", pair.Tensor, pair.Param, pair.Of))
		}
	}
	return nil
}

// permitted reports whether a pair of tensors is of slots that the signature pairs, which have as many
// tensors, and lies in one memory.
func permitted(c *plan.Call, sig *task.Signature, pair plan.Pair, grad bool) bool {
	k := pair.Tensor
	for _, i := range []int{pair.Param, pair.Of} {
		if i < 0 || i >= len(c.Params) || k < 0 || k >= len(c.Params[i]) || c.Params[i][k].Root == plan.NoRoot || sig.Params[i].Grad != grad {
			return false
		}
	}
	if len(c.Params[pair.Param]) != len(c.Params[pair.Of]) {
		return false
	}
	to, of := c.Params[pair.Param][k], c.Params[pair.Of][k]
	if to.Root != of.Root || grad && to.Mode != tensor.Store {
		return false
	}
	return slices.ContainsFunc(sig.InPlace, func(p task.InPlace) bool {
		return p.Slot == sig.Params[pair.Param].Slot && p.Of == sig.Params[pair.Of].Slot
	})
}

// checkState checks that a call of an operator with per-device state finds the state of its node.
func (in *Instance) checkState(c *plan.Call, sig *task.Signature) error {
	if sig.Operator.Signature(task.KindInit) == nil {
		return nil
	}
	s := in.states[c.Node]
	if s == nil {
		return misfit(sig, "", "a state of node "+c.Node, "none")
	}
	if !sameUse(&s.plan.Init, c) {
		return misfit(sig, "", "a state of this operator with the same attributes and tensors", "that of "+s.plan.Init.Operator)
	}
	return nil
}

// checkStates checks the nodes with state by themselves: each has one state, made by the init task of its
// operator and freed by its cleanup task, and a call that uses it.
func (in *Instance) checkStates() error {
	if len(in.plan.States) == 0 {
		return nil
	}
	calls := map[string]*plan.Call{}
	for i := range in.plan.Calls {
		calls[in.plan.Calls[i].Node] = &in.plan.Calls[i]
	}
	seen := map[string]bool{}
	for i := range in.plan.States {
		s := &in.plan.States[i]
		if seen[s.Node] || s.Init.Node != s.Node || calls[s.Node] == nil {
			return fmt.Errorf("engine: plan %s: want one state for a node with calls, got one for node %q", in.plan.Name, s.Node)
		}
		seen[s.Node] = true
		if err := in.checkStateCall(s, &s.Init, task.KindInit); err != nil {
			return err
		}
		if s.Cleanup == nil {
			continue
		}
		if err := in.checkStateCall(s, s.Cleanup, task.KindCleanup); err != nil {
			return err
		}
	}
	return nil
}

// checkStateCall checks that a call makes or frees the state of a node.
func (in *Instance) checkStateCall(s *plan.State, c *plan.Call, kind task.Kind) error {
	reg := in.engine.registry.Task(c.ID)
	switch {
	case reg == nil: // resolving it says so
		return nil
	case reg.Signature.Kind != kind || !sameUse(&s.Init, c):
		return fmt.Errorf("engine: plan %s, node %s: want a call of the %s task for its state, got %s.%s", in.plan.Name, s.Node, kind, c.Operator, c.Task)
	case kind == task.KindInit && (s.Cleanup == nil) != (reg.Signature.Operator.Signature(task.KindCleanup) == nil):
		return fmt.Errorf("engine: plan %s, node %s: want a cleanup call for its state if operator %s has one", in.plan.Name, s.Node, c.Operator)
	}
	return nil
}

// sameUse reports whether two calls are of one operator with the same attributes, applied to tensors of the
// same types and shapes.
func sameUse(a, b *plan.Call) bool {
	if a.Node != b.Node || a.Operator != b.Operator || !bytes.Equal(a.Attrs, b.Attrs) || !slices.Equal(a.Types, b.Types) ||
		!slices.Equal(a.Requested, b.Requested) || len(a.Given) != len(b.Given) || !maps.EqualFunc(a.Places, b.Places, slices.Equal) {
		return false
	}
	for name, list := range a.Given {
		if !slices.EqualFunc(list, b.Given[name], func(x, y task.Operand) bool { return x.Type == y.Type && slices.Equal(x.Shape, y.Shape) }) {
			return false
		}
	}
	return true
}

// workerBytes returns the scratch memory that each worker needs for a call.
func (in *Instance) workerBytes(sig *task.Signature, res *task.Resolution) int64 {
	var n int64
	for _, p := range sig.Params {
		if !sig.Operator.Slots[p.Slot].PerWorker {
			continue
		}
		for _, o := range res.Operands(p.Slot) {
			n += aligned(in.engine.target.Operand(o).Bytes())
		}
	}
	return n
}

// aligned rounds a size up to the alignment of roots.
func aligned(n int64) int64 { return (n + plan.Align - 1) / plan.Align * plan.Align }
