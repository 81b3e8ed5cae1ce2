package graph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/task"
)

// Optimizer inserts into g the nodes that update weights from their gradients; grads[i] is the gradient of
// weights[i]. Generated packages of optimizers have constructors. A program may compose its own: insert
// nodes that transform gradients or compute the learning rate, and call another optimizer with the results.
type Optimizer func(g *Graph, weights, grads []Tensor)

// Training returns the program of one training step: forward, backward from the scalar loss, and the update
// of every trainable weight on which the loss depends. Backward also starts from each auxiliary loss, such
// as a regularizer's, of a node on which the loss depends, or which is in the graph for its auxiliary loss
// alone. The fetched tensors can be read after a step.
func Training(g *Graph, loss Tensor, optimizer Optimizer, fetch ...Tensor) (*Program, error) {
	p := &Program{Name: "training"}
	weights, grads, err := p.differentiate(g, loss, Share{1, 1}, fetch, nil)
	if err != nil {
		return nil, err
	}
	if err := p.update(g, loss, optimizer, weights, grads); err != nil {
		return nil, err
	}
	p.collect()
	return p, nil
}

// Share is the weight of a micro-batch in its batch: the factors of its loss and of its auxiliary losses. If
// the loss is a mean over samples, both are the fraction of samples in the micro-batch. If it is a sum, Loss
// is 1. The factors of auxiliary losses add up to 1, since every micro-batch computes these losses.
type Share struct{ Loss, Aux float64 }

// Accumulation returns the two programs of a training step with gradient accumulation. The first runs for
// each micro-batch: forward and backward, which adds to one accumulated gradient per weight. The accumulated
// gradients are variables. The second runs afterwards: it updates the weights from the accumulated
// gradients, and clears these. Micro-batches of another size have a graph and a share of their own. The
// update program of any of these graphs serves all, since variables are shared by name. The step equals
// Training on the whole batch, up to rounding and to operators that depend on the whole batch.
//
// The second program runs the nodes whose outputs the optimizer reads, such as a learning rate. The first
// one runs such a node, too, if it is fetched or the loss depends on it. That is an error unless both
// results are equal: the node and its dependencies change no weight, and depend neither on the step number
// nor on random numbers.
func Accumulation(g *Graph, loss Tensor, share Share, optimizer Optimizer, fetch ...Tensor) (micro, update *Program, err error) {
	micro, update = &Program{Name: "micro-batch"}, &Program{Name: "update"}
	sums := func(w Tensor) Tensor {
		return g.tensor(info{name: g.free("sum of grad of " + w.name), operand: w.operand, kind: variable})
	}
	weights, grads, err := micro.differentiate(g, loss, share, fetch, sums)
	if err != nil {
		return nil, nil, err
	}
	micro.collect()
	variables := map[Tensor]bool{}
	for _, v := range micro.Variables {
		variables[v] = true
	}
	for w, sum := range grads {
		if !variables[sum] {
			delete(grads, w) // no node contributes to it
		}
	}
	if err := update.update(g, loss, optimizer, weights, grads); err != nil {
		return nil, nil, err
	}
	if err := update.repeats(micro); err != nil {
		return nil, nil, err
	}
	for _, w := range weights {
		if sum, ok := grads[w]; ok {
			update.Steps = append(update.Steps, Step{Phase: Update, Fill: &Fill{Tensor: sum}})
		}
	}
	update.collect()
	return micro, update, nil
}

// repeats returns an error if both programs run a node whose results may differ between them.
func (p *Program) repeats(micro *Program) error {
	runs := map[*Node]bool{}
	for _, s := range micro.Steps {
		if s.Invocation != nil {
			runs[s.Invocation.Node] = true
		}
	}
	for _, s := range p.Steps {
		if s.Invocation == nil || !runs[s.Invocation.Node] {
			continue
		}
		if why := s.Invocation.differs(); why != "" {
			return fmt.Errorf("graph: node %s: want a node that either micro-batches or the update run, got one that both run, and that %s; fetch nothing that depends on it, and "+
				"give the optimizer a node of its own", s.Invocation.Node.Name, why)
		}
	}
	return nil
}

// differs returns why repeated runs of an invocation may have different results for the same inputs; "" if
// they do not.
func (inv *Invocation) differs() string {
	for _, a := range inv.Signature.Args {
		switch a.From {
		case task.FromIteration:
			return "depends on the number of the run"
		case task.FromSeed:
			return "draws random numbers"
		}
	}
	for i, p := range inv.Signature.Params {
		for _, t := range inv.Operands[i] {
			if t.Valid() && p.Perm.Writes() && t.kind == variable {
				return "changes the weight " + t.name
			}
		}
	}
	return ""
}

// differentiate appends forward and backward from a loss. It returns the trainable weights on which the loss
// depends, and their gradients by weight. If sums is not nil, it returns the tensor to which the gradient of
// a weight is added.
func (p *Program) differentiate(g *Graph, loss Tensor, share Share, fetch []Tensor, sums func(Tensor) Tensor) ([]Tensor, map[Tensor]Tensor, error) {
	if err := g.Err(); err != nil {
		return nil, nil, err
	}
	if !loss.Valid() || len(loss.Shape()) != 0 || !loss.Type().IsFloat() {
		return nil, nil, fmt.Errorf("graph: want a floating-point scalar as loss, got %v", loss)
	}
	p.Fetched = append([]Tensor{loss}, fetch...)
	alone := g.auxiliary(p.Fetched)
	nodes, err := g.needed(slices.Concat(p.Fetched, alone))
	if err != nil {
		return nil, nil, err
	}
	if err := p.forward(nodes); err != nil {
		return nil, nil, err
	}
	seeds := map[Tensor]Tensor{loss: g.constant("grad of "+loss.name, loss.operand, share.Loss)}
	below, err := g.needed(append(alone, loss)) // without the dependencies of fetched tensors
	if err != nil {
		return nil, nil, err
	}
	var weights []Tensor
	known := map[Tensor]bool{}
	for _, n := range below {
		for slot := range n.Op.Slots {
			for _, t := range n.slots[slot] {
				if n.Op.Slots[slot].AuxLoss && n.Op.Slots[slot].Role == task.RoleOutput {
					seeds[t] = g.constant("grad of "+t.name, t.operand, share.Aux)
				}
				if t.kind == variable && t.train && !known[t] {
					known[t] = true
					weights = append(weights, t)
					if sums != nil {
						seeds[t] = sums(t)
					}
				}
			}
		}
	}
	grads, err := p.backward(g, nodes, seeds, weights)
	return weights, grads, err
}

// auxiliary returns the auxiliary losses of nodes that are in the graph for these alone: no other node reads
// their outputs, and none is fetched. The auxiliary losses of other nodes count if the loss depends on the
// node, since a graph may have several losses.
func (g *Graph) auxiliary(fetched []Tensor) []Tensor {
	read := map[*Node]bool{}
	for _, t := range fetched {
		read[t.node] = true
	}
	for _, n := range g.nodes {
		for _, tensors := range n.slots {
			for _, t := range tensors {
				if t.node != n {
					read[t.node] = true
				}
			}
		}
	}
	var out []Tensor
	for _, n := range g.nodes {
		for slot := range n.Op.Slots {
			if s := &n.Op.Slots[slot]; s.AuxLoss && s.Role == task.RoleOutput && !read[n] {
				out = append(out, n.slots[slot]...)
			}
		}
	}
	return out
}

// update appends the updates of the weights that have gradients.
func (p *Program) update(g *Graph, loss Tensor, optimizer Optimizer, weights []Tensor, grads map[Tensor]Tensor) error {
	// The updates have a graph of their own, so that the optimizer's state has the same names in every
	// program of g.
	u := &Graph{seed: g.seed, device: g.device, mark: g.mark, names: g.names.clone(), base: g}
	if len(grads) == 0 {
		return fmt.Errorf("graph: %s depends on no trainable weight", loss.name)
	}
	if optimizer == nil {
		return fmt.Errorf("graph: want an optimizer, got none")
	}
	var updated, by []Tensor
	for _, w := range weights {
		if grad, ok := grads[w]; ok {
			updated, by = append(updated, w), append(by, grad)
		}
	}
	optimizer(u, updated, by)
	if err := u.Err(); err != nil {
		return err
	}
	nodes, err := p.missing(g, u.nodes)
	if err != nil {
		return err
	}
	return p.run(Update, append(nodes, u.nodes...))
}

// missing returns the nodes of g that the updates depend on and that the program does not run yet, such as a
// node that computes the learning rate.
func (p *Program) missing(g *Graph, updates []*Node) ([]*Node, error) {
	var taken []Tensor
	for _, n := range updates {
		for slot := range n.Op.Slots {
			for _, t := range n.slots[slot] {
				if n.reads(slot, t) && t.kind == activation && g.has(t) {
					taken = append(taken, t)
				}
			}
		}
	}
	nodes, err := g.needed(taken)
	if len(nodes) == 0 {
		return nil, err
	}
	runs := map[*Node]bool{}
	for _, s := range p.Steps {
		if s.Phase == Forward && s.Invocation != nil {
			runs[s.Invocation.Node] = true
		}
	}
	return slices.DeleteFunc(nodes, func(n *Node) bool { return runs[n] }), err
}
