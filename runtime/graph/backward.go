package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// backward appends the backward steps of nodes from the gradients in seeds, and returns the gradients of the
// tensors wrt (reverse mode).
//
// It visits nodes in reverse topological order, so that all contributions to the gradients of a node's
// outputs precede its backward task. The first contribution to a gradient is stored, and later ones are
// added. Their order is fixed, so sums are reproducible.
func (p *Program) backward(g *Graph, nodes []*Node, seeds map[Tensor]Tensor, wrt []Tensor) (map[Tensor]Tensor, error) {
	// A tensor needs a gradient if it is in wrt, or depends on a tensor that needs one.
	needs := map[*info]bool{}
	for _, t := range wrt {
		if !t.Type().IsFloat() {
			return nil, fmt.Errorf("graph: want a floating-point tensor to differentiate by, got %v", t)
		}
		needs[t.info] = true
	}
	flow(nodes, needs)
	grads := map[*info]Tensor{}
	byID := func(a, b Tensor) int { return cmp.Compare(a.id, b.id) }
	for _, t := range slices.SortedFunc(maps.Keys(seeds), byID) {
		s := seeds[t]
		grads[t.info] = Tensor{info: s.info, add: true} // nodes may contribute to it, too
		if s.kind == constant {
			p.Steps = append(p.Steps, Step{Phase: Backward, Fill: &Fill{Tensor: s, Value: s.value}})
		}
	}
	for _, n := range slices.Backward(nodes) {
		if !n.differentiable(needs) {
			continue
		}
		if err := p.backwardNode(g, n, needs, grads); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	out := map[Tensor]Tensor{}
	for _, t := range wrt {
		if grad, ok := grads[t.info]; ok {
			out[t] = Tensor{info: grad.info}
		}
	}
	return out, nil
}

// flow adds to needs the outputs of nodes, in topological order, that depend on tensors in needs.
func flow(nodes []*Node, needs map[*info]bool) {
	for _, n := range nodes {
		if !n.differentiable(needs) {
			continue
		}
		for slot := range n.Op.Slots {
			if n.Op.Slots[slot].Role == task.RoleOutput {
				for _, t := range n.slots[slot] {
					needs[t.info] = t.Type().IsFloat()
				}
			}
		}
	}
}

// differentiable reports whether the node has a backward task and takes a tensor that needs a gradient.
func (n *Node) differentiable(needs map[*info]bool) bool {
	if sig := n.Op.Signature(task.KindBackward); sig == nil || !sig.Supports(n.Resolved.Types) {
		return false
	}
	for slot := range n.Op.Slots {
		for _, t := range n.slots[slot] {
			s := n.Op.Slots[slot]
			if (s.Role == task.RoleInput || s.Role == task.RoleWeight) && s.Trainable && needs[t.info] {
				return true
			}
		}
	}
	return false
}

// reached reports whether an output of the node has a gradient.
func (n *Node) reached(grads map[*info]Tensor) bool {
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role == task.RoleOutput && slices.ContainsFunc(n.slots[slot], func(t Tensor) bool { return grads[t.info].Valid() }) {
			return true
		}
	}
	return false
}

func (p *Program) backwardNode(g *Graph, n *Node, needs map[*info]bool, grads map[*info]Tensor) error {
	sig := n.Op.Signature(task.KindBackward)
	if !n.reached(grads) {
		return nil // no seed depends on this node
	}
	own := map[int][]Tensor{}  // by slot: the gradients that the task reads and computes
	here := map[*info]Tensor{} // the gradients that this node contributes to
	nothing := n.runsOverNothing(sig)
	fill := func(t Tensor) { p.Steps = append(p.Steps, Step{Phase: Backward, Fill: &Fill{Tensor: t}}) }
	var after []Step
	for _, par := range sig.Params {
		if !par.Grad {
			continue
		}
		for _, t := range n.slots[par.Slot] {
			var grad Tensor
			sum, have := grads[t.info]
			switch {
			case par.Perm.Reads() && have: // gradient of an output
				grad = Tensor{info: sum.info}
			case par.Perm.Reads(): // of an output that no seed depends on
				grad = g.constant("grad of "+t.name, t.operand, 0)
				fill(grad)
			case !needs[t.info]:
			case here[t.info].Valid():
				// The tensor is bound twice to this node, and one task would write both contributions. The
				// second has memory of its own, and is added afterwards.
				grad = g.gradient(t, n.Name+"."+n.Op.Slots[par.Slot].Name)
				after = append(after, Step{Phase: Backward, Add: &Add{To: here[t.info], From: grad}})
				if par.Scatter || nothing {
					fill(grad)
					grad.add = true
				}
			default:
				grad = sum
				switch {
				case !have:
					grad = g.gradient(t, "")
					if par.Scatter || nothing {
						fill(grad)
						grad.add = true
					}
				case sum.kind == input: // a seed, which the caller feeds and no task may change
					grad = g.gradient(t, "")
					fill(grad)
					p.Steps = append(p.Steps, Step{Phase: Backward, Add: &Add{To: grad, From: sum.Root()}})
					grad.add = true
				}
				here[t.info] = Tensor{info: grad.info}
				grads[t.info] = Tensor{info: grad.info, add: true}
			}
			own[par.Slot] = append(own[par.Slot], grad)
		}
	}
	inv, err := n.bind(sig, own)
	if err != nil {
		return err
	}
	p.Steps = append(p.Steps, Step{Phase: Backward, Invocation: inv})
	p.Steps = append(p.Steps, after...)
	return nil
}

// runsOverNothing reports whether the grids of all steps of a task are empty, as for an empty batch. Plans
// omit such a task, so gradients that have elements, such as that of a weight, are filled with 0.
func (n *Node) runsOverNothing(sig *task.Signature) bool {
	t := slices.Index(n.Op.Signatures, sig)
	for step := range sig.Steps {
		if g := n.Resolved.Work(t, step); g.Tiles() > 0 {
			return false
		}
	}
	return true
}

func (g *Graph) gradient(of Tensor, suffix string) Tensor {
	name := "grad of " + of.name
	if suffix != "" {
		name += " by " + suffix
	}
	return g.tensor(info{name: g.free(name), operand: of.operand, kind: gradient})
}

func (g *Graph) constant(name string, o task.Operand, value float64) Tensor {
	return g.tensor(info{name: g.free(name), operand: o, kind: constant, value: value})
}

// free returns name, or name_1, name_2, ... if it is taken. Unlike unique, it does not reserve the name, so
// that all programs of a graph use the same names of gradients.
func (g *Graph) free(name string) string {
	free := name
	for i := 1; g.names.asked(free) > 0; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	return free
}

// Root returns the handle of the tensor itself, without the accumulate flag of a gradient. Map keys are
// roots.
func (t Tensor) Root() Tensor { return Tensor{info: t.info} }

// Mode returns how a task writes a gradient: discard, store, or accumulate.
func (t Tensor) Mode() tensor.Mode {
	switch {
	case !t.Valid():
		return tensor.Discard
	case t.add:
		return tensor.Accumulate
	}
	return tensor.Store
}

// Variable reports whether the tensor persists between steps.
func (t Tensor) Variable() bool { return t.Valid() && t.kind == variable }
