package graph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// PartInput adds a tensor that the caller feeds before each step: one part of a tensor that is divided among
// devices, all of whose parts have the same shape. Weights and outputs of the operators that are applied to
// it are then parts, too, and Operator.Parallel says of what. An operator that cannot be applied to the parts
// by themselves, such as a softmax along a divided dimension, is an error of the graph. Arguments from shapes
// show kernels the partitions of whole tensors.
func (g *Graph) PartInput(name string, t dtype.Type, whole partition.Partition) Tensor {
	g.must()
	if err := whole.Check(); err != nil {
		g.fail(1, fmt.Errorf("input %s: %w", name, err))
		return Tensor{}
	}
	part := make([]int, len(whole.Extents))
	for d, n := range whole.Extents {
		if part[d] = n / whole.Degrees[d]; n%whole.Degrees[d] != 0 || whole.Tiles != nil {
			g.fail(1, fmt.Errorf("input %s: want parts of one shape, got %v", name, whole))
			return Tensor{}
		}
	}
	x := g.Input(name, t, part...)
	if x.Valid() {
		x.whole = &whole
	}
	return x
}

// Partition returns the partition of the tensor of which t is a part. For a tensor that is no part, it is the
// partition into one part.
func (t Tensor) Partition() partition.Partition {
	switch {
	case !t.Valid():
		return partition.Partition{}
	case t.whole == nil:
		return partition.Undivided(t.operand.Shape)
	}
	return *t.whole
}

// divide notes of what the weights and outputs of a node are parts, if its inputs are parts. given is what
// the node was resolved from. The error names the operator, the slot and the dimension that cannot be
// divided.
func (n *Node) divide(given task.Given) error {
	parts := map[int][]partition.Partition{}
	for slot := range n.Op.Slots {
		role := n.Op.Slots[slot].Role
		if role != task.RoleInput && role != task.RoleWeight || !slices.ContainsFunc(n.slots[slot], func(t Tensor) bool { return t.whole != nil }) {
			continue
		}
		for _, t := range n.slots[slot] {
			parts[slot] = append(parts[slot], t.Partition())
		}
	}
	if len(parts) == 0 {
		return nil
	}
	wholes, err := n.Op.Parallel(n.Resolved, parts, true)
	if err != nil {
		return err
	}
	if err := n.compareWhole(given, wholes); err != nil {
		return err
	}
	for slot := range n.Op.Slots {
		for k, t := range n.slots[slot] {
			if n.Op.Slots[slot].Role == task.RoleInput && t.whole == nil && slices.ContainsFunc(wholes[slot][k].Degrees, func(n int) bool { return n > 1 }) {
				return &op.Error{Operator: n.Op.FullName(), Slot: n.Op.Slots[slot].Name, Want: "a part of " + wholes[slot][k].String(), Got: t.String() + ", which is whole"}
			}
		}
	}
	n.wholes = wholes
	for slot := range n.Op.Slots {
		for k, t := range n.slots[slot] {
			if role := n.Op.Slots[slot].Role; t.whole == nil && role != task.RoleInput && k < len(wholes[slot]) {
				t.whole = &wholes[slot][k]
			}
		}
	}
	return nil
}

// compareWhole applies the operator to the whole inputs, and reports a tensor whose whole is another one than
// that of which the node has a part. An extent that an attribute fixes is that of a part.
func (n *Node) compareWhole(given task.Given, wholes [][]partition.Partition) error {
	operands := make([][]task.Operand, len(given.Operands))
	for slot, list := range given.Operands {
		for k, t := range list {
			operands[slot] = append(operands[slot], task.Operand{Type: t.Type, Shape: wholes[slot][k].Extents})
		}
	}
	given.Operands = operands
	whole, err := task.Resolve(&n.Op.Operator, n.Attrs, given)
	if err != nil {
		return fmt.Errorf("applied to the whole of which the inputs are parts: %w", err)
	}
	for slot := range n.Op.Slots {
		if role := n.Op.Slots[slot].Role; role != task.RoleWeight && role != task.RoleOutput {
			continue
		}
		if len(whole.Operands(slot)) != len(wholes[slot]) {
			return &op.Error{Operator: n.Op.FullName(), Slot: n.Op.Slots[slot].Name, Want: count(len(whole.Operands(slot))), Got: count(len(wholes[slot])) + " of parts"}
		}
		for k, t := range whole.Operands(slot) {
			part := n.Resolved.Operands(slot)[k].Shape
			for d, extent := range t.Shape {
				if got := wholes[slot][k].Extents[d]; got != extent && extent != part[d] {
					return &op.Error{Operator: n.Op.FullName(), Slot: n.Op.Slots[slot].Name,
						Want: fmt.Sprintf("parts of %v, which is what the operator makes of the whole inputs", t), Got: wholes[slot][k].String()}
				}
			}
		}
	}
	return nil
}

// Wholes maps a slot to the partitions of the whole tensors of which the node's tensors are parts; nil if the
// node's tensors are whole.
func (n *Node) Wholes() [][]partition.Partition { return n.wholes }

// Weight makes a node share a weight of another node. The weight has one value, and its gradient is the sum
// of the gradients of all nodes that use it. The tensor may also be any other tensor of the graph, if the
// operator does not change the weight: the filter of a convolution may be computed.
func Weight[S ~int](slot S, t Tensor) Option {
	return func(o *options) {
		choose(o, "Weight", slot)
		if o.weights == nil {
			o.weights = map[int]Tensor{}
		}
		o.weights[int(slot)] = t
	}
}

// writes reports whether a task of the operator writes a slot.
func (o *Operator) writes(slot int) bool {
	return slices.ContainsFunc(o.Signatures, func(sig *task.Signature) bool {
		return slices.ContainsFunc(sig.Params, func(p task.Param) bool { return p.Slot == slot && !p.Grad && p.Perm != perm.Read })
	})
}

// checkWeights reports a weight of another node that does not fit.
func (in *insertion) checkWeights(res *task.Resolution) error {
	for slot := range in.op.Slots {
		t, ok := in.opts.weights[slot]
		if !ok {
			continue
		}
		fail := func(want, got string) error {
			return &op.Error{Operator: in.op.FullName(), Slot: in.op.Slots[slot].Name, Want: want, Got: got}
		}
		want := res.Operands(slot)
		switch {
		case in.op.Slots[slot].Role != task.RoleWeight:
			return fail("a weight for Weight", "one of role "+in.op.Slots[slot].Role.String())
		case len(want) != 1:
			return fail(count(len(want)), count(1))
		case !t.Valid() || !in.g.has(t):
			return fail("a weight of the node's graph", t.String())
		case !t.Variable() && in.op.writes(slot):
			return fail("a weight of the node's graph, since the operator changes it", t.String())
		case want[0].Type != t.Type() || !shape.Equal(want[0].Shape, t.Shape()):
			return fail(want[0].String(), t.String())
		}
	}
	for slot := range in.opts.weights {
		if slot < 0 || slot >= len(in.op.Slots) {
			return &op.Error{Operator: in.op.FullName(), Want: "a weight for Weight", Got: in.op.SlotName(slot)}
		}
	}
	return nil
}
