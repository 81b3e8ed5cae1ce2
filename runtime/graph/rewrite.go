package graph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Change returns a copy of node n with other attributes and tensors, for passes that rewrite programs.
// Inputs, weights and outputs that are not in tensors are kept; saved slots get new tensors. request lists
// optional outputs to compute. It is an error if shape inference gives the tensors other types or shapes.
func (n *Node) Change(attrs task.Attrs, tensors map[int][]Tensor, request ...int) (*Node, error) {
	c := &Node{Op: n.Op, Name: n.Name, Attrs: attrs, Device: n.Device, Seed: n.Seed, slots: make([][]Tensor, len(n.slots)), passed: n.passed, constraints: n.constraints, wholes: n.wholes,
		after: n.after, origin: n.Origin()}
	return n.change(c, tensors, request...)
}

// change completes c, which is to be a copy of n with other tensors.
func (n *Node) change(c *Node, tensors map[int][]Tensor, request ...int) (*Node, error) {
	given := task.NoneGiven(&n.Op.Operator)
	given.Pass(n.passed)
	copy(given.Requested, n.Resolved.Given().Requested)
	for slot, places := range n.Resolved.Given().Places {
		if ts, changed := tensors[slot]; !changed || len(ts) == len(places) {
			if given.Places == nil {
				given.Places = map[int][]int{}
			}
			given.Places[slot] = places
		}
	}
	for _, slot := range request {
		given.Requested[slot] = 1
	}
	for slot := range n.slots {
		s := &n.Op.Slots[slot]
		if s.Role != task.RoleSaved {
			c.slots[slot] = slices.Clone(n.slots[slot])
		}
		if ts, ok := tensors[slot]; ok {
			c.slots[slot] = ts
		}
		if s.Role == task.RoleInput {
			for _, t := range c.slots[slot] {
				given.Operands[slot] = append(given.Operands[slot], t.operand)
			}
		}
	}
	var resolutions *task.Resolutions
	if g := n.Origin().graph; g != nil {
		resolutions = &g.resolutions
	}
	var err error
	if c.Resolved, err = resolutions.Resolve(&n.Op.Operator, c.Attrs, given); err != nil {
		return nil, err
	}
	for slot := range c.slots {
		s := &n.Op.Slots[slot]
		want := c.Resolved.Operands(slot)
		if s.Role == task.RoleSaved {
			for _, o := range want {
				c.slots[slot] = append(c.slots[slot], numbered(info{name: c.Name + "." + s.Name, operand: o, kind: activation, device: c.Device, node: c}))
			}
		}
		if s.Role == task.RoleScratch || s.Role == task.RoleArgument {
			continue
		}
		if _, given := tensors[slot]; !given && len(want) == 0 {
			c.slots[slot] = nil // absent under these attributes
		}
		if len(want) != len(c.slots[slot]) {
			return nil, &op.Error{Operator: n.Op.FullName(), Slot: s.Name, Want: count(len(want)), Got: count(len(c.slots[slot]))}
		}
		for k, t := range c.slots[slot] {
			if want[k].Type != t.Type() || !t.ShapeIs(want[k].Shape) {
				return nil, &op.Error{Operator: n.Op.FullName(), Slot: s.Name, Want: want[k].String(), Got: t.String()}
			}
		}
	}
	return c, nil
}

// Origin returns the node of the graph from which Change derived n, or n itself.
func (n *Node) Origin() *Node {
	if n.origin != nil {
		return n.origin
	}
	return n
}

// Differentiate binds the node's backward task to gradients, by slot: of outputs, which it reads, and of
// inputs and weights, which it computes. Slots that are not in grads have no gradient.
func (n *Node) Differentiate(grads map[int][]Tensor) (*Invocation, error) {
	sig := n.Op.Signature(task.KindBackward)
	if sig == nil {
		return nil, fmt.Errorf("node %s: operator %s has no gradient", n.Name, n.Op.FullName())
	}
	return n.bind(sig, grads)
}

// NoGradient returns the zero gradient of an output on which nothing depends, and the step that fills it.
func NoGradient(of Tensor) (Step, Tensor) {
	t := numbered(info{name: "grad of " + of.name, operand: of.operand, kind: constant, device: of.device})
	return Step{Phase: Backward, Fill: &Fill{Tensor: t}}, t
}

// inInference returns the node with the attributes that its operator overrides for inference.
func (n *Node) inInference() (*Node, error) {
	if n.Op.Inference == "" {
		return n, nil
	}
	attrs, err := task.Override(&n.Op.Operator, n.Attrs, []byte(n.Op.Inference))
	if err != nil || attrs == n.Attrs {
		return n, err
	}
	return n.Change(attrs, nil)
}
