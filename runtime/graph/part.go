package graph

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// PartInput adds an input that is one part of a tensor that is partitioned among devices. All parts must
// have the same shape. Weights and outputs of operators that read the part are partitioned as
// Operator.Parallel infers. Kernels whose arguments come from shapes get the partitions of the whole
// tensors.
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

// Partition returns the partition whose part t is. A tensor that is no part is its own single part.
func (t Tensor) Partition() partition.Partition {
	switch {
	case !t.Valid():
		return partition.Partition{}
	case t.whole == nil:
		return partition.Undivided(t.operand.Shape)
	}
	return *t.whole
}

// divide infers the partitions of a node's weights and outputs if its inputs are parts. If the operator
// cannot be partitioned so, the outputs are ordinary tensors. That is an error if a task takes the partition
// of a tensor as an argument.
func (n *Node) divide() error {
	given := map[int][]partition.Partition{}
	for slot := range n.Op.Slots {
		role := n.Op.Slots[slot].Role
		for _, t := range n.slots[slot] {
			if t.whole != nil && (role == task.RoleInput || role == task.RoleWeight) {
				given[slot] = nil
			}
		}
	}
	if len(given) == 0 {
		return nil
	}
	for slot := range given {
		for _, t := range n.slots[slot] {
			given[slot] = append(given[slot], t.Partition())
		}
	}
	wholes, err := n.Op.Parallel(n.Resolved, given)
	if err != nil {
		for _, sig := range n.Op.Signatures {
			for _, a := range sig.Args {
				if a.From == task.FromShape {
					return err
				}
			}
		}
		return nil
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

// Wholes returns, by slot, the partitions whose parts the node's tensors are; nil if they are no parts.
func (n *Node) Wholes() [][]partition.Partition { return n.wholes }

// Weight makes a node share a weight of another node. The gradient of a shared weight is the sum over all
// nodes that use it.
func Weight[S ~int](slot S, t Tensor) Option {
	return func(o *options) {
		choose(o, "Weight", slot)
		if o.weights == nil {
			o.weights = map[int]Tensor{}
		}
		o.weights[int(slot)] = t
	}
}

// checkWeights returns an error if a shared weight does not fit its slot.
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
		case !t.Valid() || !in.g.has(t) || !t.Variable():
			return fail("a weight of the node's graph", t.String())
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
