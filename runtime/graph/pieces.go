package graph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// Piece returns a new tensor with t's kind and type and with other extents: the part of t that a device
// holds, in programs for several devices. A variable begins with zeros, unless BeginAs or BeginBy says
// otherwise.
func (t Tensor) Piece(device int, name string, dims []int) Tensor {
	p := info{name: name, operand: task.Operand{Type: t.operand.Type, Shape: slices.Clone(dims)}, kind: t.kind, train: t.train, device: device, value: t.value}
	return numbered(p)
}

// Temporary is like Piece for a tensor that only lives within a run.
func (t Tensor) Temporary(device int, name string, dims []int) Tensor {
	return numbered(info{name: name, operand: task.Operand{Type: t.operand.Type, Shape: slices.Clone(dims)}, kind: activation, device: device})
}

// Accumulated returns the handle of a gradient to which tasks add.
func (t Tensor) Accumulated() Tensor { return Tensor{info: t.info, add: true} }

// BeginAs makes a variable that Piece returned begin as a copy of another.
func (t Tensor) BeginAs(other Tensor) { t.source = other.Root() }

// BeginBy makes a variable that Piece returned begin as what nodes compute from a temporary tensor, which
// begins as the variable of does: with the same elements. The last node computes the variable. Without nodes,
// the variable itself begins so.
func (t Tensor) BeginBy(of, temporary Tensor, nodes ...*Node) {
	t.init = of.init
	if len(nodes) > 0 {
		temporary.init = of.init
		t.begin = &beginning{temporary, nodes}
	}
}

// beginning computes the first elements of a variable from those of another.
type beginning struct {
	from  Tensor
	nodes []*Node
}

// steps returns the steps that initialize the variable v.
func (v Tensor) steps() ([]Step, error) {
	nodes, first := []*Node{nil}, v
	if v.begin != nil {
		nodes, first = append(nodes, v.begin.nodes...), v.begin.from
	}
	switch {
	case v.source.Valid():
		return []Step{{Phase: Initialize, Copy: &Copy{To: v, From: v.source}}}, nil
	case v.init == nil: // an accumulated gradient
		return []Step{{Phase: Initialize, Fill: &Fill{Tensor: v}}}, nil
	}
	var err error
	if nodes[0], err = v.init.node(first); err != nil {
		return nil, err
	}
	var out []Step
	for _, n := range nodes {
		inv, err := n.Invoke()
		if err != nil {
			return nil, err
		}
		out = append(out, Step{Phase: Initialize, Invocation: inv})
	}
	return out, nil
}

// Piece returns a node that applies the node's operator to pieces of its tensors on a device, with other
// attributes. tensors maps slots to pieces; slots that no other node uses may be missing. wholes describes
// the partitions of the whole tensors. Piece returns an error if shape inference results in other types or
// shapes.
func (n *Node) Piece(device int, name string, attrs task.Attrs, tensors map[int][]Tensor, wholes [][]partition.Partition) (*Node, error) {
	return n.change(&Node{Op: n.Op, Name: name, Attrs: attrs, Device: device, Seed: n.Seed, slots: make([][]Tensor, len(n.slots)), passed: n.passed, constraints: n.constraints, wholes: wholes}, tensors)
}

// Moving returns a node outside of any graph: an operator with one input, or one list of inputs, applied to
// tensors. Its first output is the given tensor.
func Moving(o *Operator, attrs task.Attrs, device int, name string, output Tensor, inputs ...Tensor) (*Node, error) {
	find := func(role task.Role) int {
		return slices.IndexFunc(o.Slots, func(s task.Slot) bool { return s.Role == role })
	}
	in, out := find(task.RoleInput), find(task.RoleOutput)
	if in < 0 || out < 0 {
		return nil, &op.Error{Operator: o.FullName(), Want: "an operator with an input and an output", Got: "none"}
	}
	given := task.NoneGiven(&o.Operator)
	n := &Node{Op: o, Name: name, Attrs: attrs, Device: device, slots: make([][]Tensor, len(o.Slots))}
	for _, t := range inputs {
		given.Operands[in] = append(given.Operands[in], t.operand)
	}
	n.slots[in], n.slots[out] = inputs, []Tensor{output}
	var err error
	if n.Resolved, err = task.Resolve(&o.Operator, attrs, given); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	if want := n.Resolved.Operands(out); len(want) != 1 || want[0].Type != output.Type() || !output.ShapeIs(want[0].Shape) {
		return nil, fmt.Errorf("node %s: %w", name, &op.Error{Operator: o.FullName(), Slot: o.SlotName(out), Want: fmt.Sprint(want), Got: output.String()})
	}
	return n, nil
}
