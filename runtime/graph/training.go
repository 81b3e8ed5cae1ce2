package graph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/task"
)

// Optimizer inserts, into g, the nodes that update weights from their gradients, which have the same order.
// Generated packages of optimizers make them. A program may make its own from these: one that inserts nodes
// that change the gradients, or give the learning rate of the step, and then applies another optimizer to
// what they give.
type Optimizer func(g *Graph, weights, grads []Tensor)

// Training returns the program of one training step: forward, backward from the scalar loss (and
// from every auxiliary loss, such as a regularizer's, of the nodes that the loss depends on, or that
// are in the graph for an auxiliary loss alone), and the update of every trainable weight that the
// loss depends on. The given tensors can be read after a step.
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

// Share is the weight of a micro-batch within the batch of which it is a part: the factors of its loss
// and of its auxiliary losses in those of the whole batch. If the loss is a mean over samples, both are
// the part of the samples that it holds; if it is a sum, Loss is 1. The factors of auxiliary losses,
// each of which every micro-batch computes, add up to 1.
type Share struct{ Loss, Aux float64 }

// Accumulation returns the two programs of a training step that takes its batch in several parts. The first
// is run for each micro-batch: forward and backward, whose gradients are added to sums, one for each weight,
// that are variables. The second, run afterwards, updates the weights from the sums and clears them.
// Micro-batches of several sizes have programs of their own graphs, with shares of their own. The update of
// any of them serves all, since weights and sums have the same names. The step equals that of Training with a
// batch of all samples, except for rounding and for operators that depend on the whole batch.
//
// A node whose output the optimizer takes, such as a learning rate, is run by the second program. The first
// one runs it, too, if it is fetched or the loss depends on it. This is an error unless both compute the
// same: the node, and those that it depends on, change no weight and depend neither on the number of the run
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
			delete(grads, w) // nothing contributes to it
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

// repeats returns an error if the program runs a node that the program of micro-batches runs, too, and that
// does not give the same there.
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

// differs says why an invocation may give something else each time that it runs with the same inputs; "" if
// it does not.
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

// differentiate appends forward and backward from a loss. It returns the trainable weights that the
// loss depends on, and their gradients; if sums is given, it provides the tensors that gradients of
// weights are added to.
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
	below, err := g.needed(append(alone, loss)) // without what only the fetched tensors depend on
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
// an output of theirs, and none is fetched. What other nodes read counts where the loss depends on it, since
// a graph may have several losses.
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

// update appends the updates of weights that have gradients.
func (p *Program) update(g *Graph, loss Tensor, optimizer Optimizer, weights []Tensor, grads map[Tensor]Tensor) error {
	// The updates have a graph of their own, so that another program of g names its optimizer's
	// state alike.
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

// missing returns the nodes of g whose outputs the nodes of updates take, and what these depend on, without
// those that the program runs already. The loss depends on none of them: a node that gives the learning rate
// is such a node.
func (p *Program) missing(g *Graph, updates []*Node) ([]*Node, error) {
	var taken []Tensor
	for _, n := range updates {
		for slot := range n.Op.Slots {
			for _, t := range n.slots[slot] {
				if n.Op.Slots[slot].Role == task.RoleInput && t.kind == activation && g.has(t) {
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
