package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Phase says to which part of a training step a program step belongs.
type Phase uint8

const (
	Initialize Phase = iota
	Forward
	Backward
	Update
)

var phases = [...]string{"initialize", "forward", "backward", "update"}

// String returns the phase's name.
func (p Phase) String() string { return phases[p] }

// Step is one step of a program: an invocation, or one of two operations that every engine knows.
type Step struct {
	Phase      Phase
	Invocation *Invocation // nil for Fill and Add
	Fill       *Fill
	Add        *Add
}

// Fill sets every element of a tensor to a value.
type Fill struct {
	Tensor Tensor
	Value  float64
}

// Add adds a tensor to another of the same shape and type, element by element.
type Add struct{ To, From Tensor }

// Program is a sequence of steps. Its meaning is that of running them one after the other; what may
// run side by side follows from permissions.
type Program struct {
	Name  string
	Steps []Step
	// Fed lists the inputs that the caller writes before a step.
	Fed []Tensor
	// Fetched lists the tensors that the caller reads after a step.
	Fetched []Tensor
	// Variables lists the tensors that live from step to step.
	Variables []Tensor
}

// collect fills in Fed and Variables from the steps.
func (p *Program) collect() {
	seen := map[*info]bool{}
	note := func(t Tensor) {
		if !t.Valid() || seen[t.info] {
			return
		}
		seen[t.info] = true
		switch t.kind {
		case input:
			p.Fed = append(p.Fed, Tensor{info: t.info})
		case variable:
			p.Variables = append(p.Variables, Tensor{info: t.info})
		}
	}
	for _, s := range p.Steps {
		if s.Invocation != nil {
			for _, ts := range s.Invocation.Operands {
				for _, t := range ts {
					note(t)
				}
			}
		}
		if s.Fill != nil {
			note(s.Fill.Tensor)
		}
		if s.Add != nil {
			note(s.Add.To)
			note(s.Add.From)
		}
	}
	for _, t := range p.Fetched {
		note(t)
	}
}

// Inference returns the program that computes the given tensors.
func Inference(g *Graph, fetch ...Tensor) (*Program, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	p := &Program{Name: "inference", Fetched: fetch}
	nodes, err := g.needed(fetch)
	if err != nil {
		return nil, err
	}
	if err := p.forward(nodes); err != nil {
		return nil, err
	}
	p.collect()
	return p, nil
}

// Whole returns the program that runs every node of g once, in the order of insertion, each with its
// first task; for an optimiser's node that is its update. The given tensors can be read afterwards.
func Whole(g *Graph, fetch ...Tensor) (*Program, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	p := &Program{Name: "whole graph", Fetched: fetch}
	if err := p.forward(g.nodes); err != nil {
		return nil, err
	}
	p.collect()
	return p, nil
}

// needed returns the nodes that the given tensors depend on, in order.
func (g *Graph) needed(tensors []Tensor) ([]*Node, error) {
	need := map[*Node]bool{}
	for _, t := range tensors {
		if !t.Valid() || t.id >= len(g.tensors) || g.tensors[t.id] != t.info {
			return nil, fmt.Errorf("graph: want a tensor of this graph, got %v", t)
		}
		if t.node != nil {
			need[t.node] = true
		}
	}
	var nodes []*Node
	for _, n := range slices.Backward(g.nodes) {
		if !need[n] {
			continue
		}
		nodes = append(nodes, n)
		for slot := range n.Op.Slots {
			if n.Op.Slots[slot].Role == task.RoleInput {
				for _, t := range n.slots[slot] {
					if t.node != nil {
						need[t.node] = true
					}
				}
			}
		}
	}
	slices.Reverse(nodes)
	return nodes, nil
}

func (p *Program) forward(nodes []*Node) error {
	for _, n := range nodes {
		inv, err := n.Op.Invoke(n)
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
		p.Steps = append(p.Steps, Step{Phase: Forward, Invocation: inv})
	}
	return nil
}

// Optimizer inserts, into g, the node that updates a weight from its gradient. Generated packages of
// optimisers make them.
type Optimizer func(g *Graph, weight, grad Tensor)

// Training returns the program of one training step: forward, backward from the scalar loss (and
// from every auxiliary loss, such as a regulariser's), and the update of every trainable weight
// that the loss depends on. The given tensors can be read after a step.
func Training(g *Graph, loss Tensor, optimizer Optimizer, fetch ...Tensor) (*Program, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if !loss.Valid() || len(loss.Shape()) != 0 || !loss.Type().IsFloat() {
		return nil, fmt.Errorf("graph: want a floating-point scalar as loss, got %v", loss)
	}
	p := &Program{Name: "training", Fetched: append([]Tensor{loss}, fetch...)}
	nodes, err := g.needed(p.Fetched)
	if err != nil {
		return nil, err
	}
	if err := p.forward(nodes); err != nil {
		return nil, err
	}
	seeds := map[Tensor]Tensor{loss: g.constant("grad of "+loss.name, loss.operand, 1)}
	var weights []Tensor
	for _, n := range nodes {
		for slot := range n.Op.Slots {
			for _, t := range n.slots[slot] {
				if n.Op.Slots[slot].AuxLoss && n.Op.Slots[slot].Role == task.RoleOutput {
					seeds[t] = g.constant("grad of "+t.name, t.operand, 1)
				}
				if t.kind == variable && t.train && !slices.Contains(weights, t) {
					weights = append(weights, t)
				}
			}
		}
	}
	grads, err := p.backward(g, nodes, seeds, weights)
	if err != nil {
		return nil, err
	}
	u := &Graph{seed: g.seed, names: g.names}
	updated := 0
	for _, w := range weights {
		if grad, ok := grads[w]; ok {
			optimizer(u, w, grad)
			updated++
		}
	}
	if updated == 0 {
		return nil, fmt.Errorf("graph: %s depends on no trainable weight", loss.name)
	}
	if err := u.Err(); err != nil {
		return nil, err
	}
	for _, n := range u.nodes {
		inv, err := n.Op.Invoke(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		p.Steps = append(p.Steps, Step{Phase: Update, Invocation: inv})
	}
	p.collect()
	return p, nil
}

// Gradients returns the program that computes forward, and then the gradients of the tensors wrt
// from given gradients of outputs: seeds maps a tensor of g to an input that holds its gradient. It
// also returns the gradients; a tensor of wrt that no seed depends on has none.
func Gradients(g *Graph, seeds map[Tensor]Tensor, wrt []Tensor, fetch ...Tensor) (*Program, map[Tensor]Tensor, error) {
	if err := g.Err(); err != nil {
		return nil, nil, err
	}
	p := &Program{Name: "gradients", Fetched: slices.Clone(fetch)}
	roots := slices.Clone(fetch)
	for t, s := range seeds {
		if t.Type() != s.Type() || !slices.Equal(t.Shape(), s.Shape()) {
			return nil, nil, fmt.Errorf("graph: want a gradient like %v, got %v", t, s)
		}
		roots = append(roots, t)
	}
	nodes, err := g.needed(roots)
	if err != nil {
		return nil, nil, err
	}
	if err := p.forward(nodes); err != nil {
		return nil, nil, err
	}
	grads, err := p.backward(g, nodes, seeds, wrt)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range wrt {
		if grad, ok := grads[t]; ok {
			p.Fetched = append(p.Fetched, grad)
		}
	}
	p.collect()
	return p, grads, nil
}

// backward appends the backward steps of nodes, given the gradients of some tensors, and returns the
// gradients of the tensors wrt.
//
// It walks the nodes in reverse order, so when a node's backward is reached all contributions to
// its outputs' gradients have been made. The first contribution to a gradient is stored, later ones
// are added, always in this order, so sums are reproducible.
func (p *Program) backward(g *Graph, nodes []*Node, seeds map[Tensor]Tensor, wrt []Tensor) (map[Tensor]Tensor, error) {
	// A tensor needs a gradient if it is asked for, or if a tensor that needs one goes into it.
	needs := map[*info]bool{}
	for _, t := range wrt {
		if !t.Type().IsFloat() {
			return nil, fmt.Errorf("graph: want a floating-point tensor to differentiate by, got %v", t)
		}
		needs[t.info] = true
	}
	differentiable := func(n *Node) bool {
		if n.Op.Backward == nil {
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
	for _, n := range nodes {
		if !differentiable(n) {
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
	grads := map[*info]Tensor{}
	for t, s := range seeds {
		grads[t.info] = s
		if s.kind == constant {
			p.Steps = append(p.Steps, Step{Phase: Backward, Fill: &Fill{Tensor: s, Value: s.value}})
		}
	}
	for _, n := range slices.Backward(nodes) {
		if !differentiable(n) {
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

func (p *Program) backwardNode(g *Graph, n *Node, needs map[*info]bool, grads map[*info]Tensor) error {
	sig := n.Op.Signature(task.KindBackward)
	reached := false
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role == task.RoleOutput {
			for _, t := range n.slots[slot] {
				reached = reached || grads[t.info].Valid()
			}
		}
	}
	if !reached {
		return nil // the seeds do not depend on this node
	}
	n.grads = make([][]Tensor, len(n.Op.Slots))
	defer func() { n.grads = nil }()
	here := map[*info]Tensor{} // gradients that this node contributes to
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
			case par.Perm.Reads(): // of an output that nothing depends on
				grad = g.constant("grad of "+t.name, t.operand, 0)
				fill(grad)
			case !needs[t.info]:
			case here[t.info].Valid():
				// The tensor is bound twice to this node, and the two contributions would meet
				// within one task. The second goes to memory of its own and is added afterwards.
				grad = g.gradient(t, n.Name+"."+n.Op.Slots[par.Slot].Name)
				after = append(after, Step{Phase: Backward, Add: &Add{To: here[t.info], From: grad}})
				if par.Scatter {
					fill(grad)
					grad.add = true
				}
			default:
				grad = sum
				if !have {
					grad = g.gradient(t, "")
					if par.Scatter {
						fill(grad)
						grad.add = true
					}
				}
				here[t.info] = Tensor{info: grad.info}
				grads[t.info] = Tensor{info: grad.info, add: true}
			}
			n.grads[par.Slot] = append(n.grads[par.Slot], grad)
		}
	}
	inv, err := n.Op.Backward(n)
	if err != nil {
		return err
	}
	p.Steps = append(p.Steps, Step{Phase: Backward, Invocation: inv})
	p.Steps = append(p.Steps, after...)
	return nil
}

func (g *Graph) gradient(of Tensor, suffix string) Tensor {
	name := "grad of " + of.name
	if suffix != "" {
		name += " by " + suffix
	}
	return g.tensor(info{name: name, operand: of.operand, kind: gradient})
}

func (g *Graph) constant(name string, o task.Operand, value float64) Tensor {
	return g.tensor(info{name: name, operand: o, kind: constant, value: value})
}

// Root returns the tensor itself: the handle without the note, carried by gradients, that others
// have contributed before. It is what to use as a map key.
func (t Tensor) Root() Tensor { return Tensor{info: t.info} }

// Mode says what a task does with a gradient that it contributes to.
func (t Tensor) Mode() tensor.Mode {
	switch {
	case !t.Valid():
		return tensor.Discard
	case t.add:
		return tensor.Accumulate
	}
	return tensor.Store
}

// Variable reports whether the tensor lives from step to step.
func (t Tensor) Variable() bool { return t.Valid() && t.kind == variable }

// initializer returns how a weight begins. If the initialiser has an attribute named seed that the
// spec does not set, it is derived from the graph's seed and the weight's name, so that weights
// differ from one another and stay the same when others are added.
func (g *Graph) initializer(op *Operator, attrs, weight string) (*initializer, error) {
	if op == nil {
		return nil, errors.New("want an initialiser, got none")
	}
	object := map[string]any{}
	if attrs != "" {
		if err := json.Unmarshal([]byte(attrs), &object); err != nil {
			return nil, err
		}
	}
	if _, set := object["seed"]; !set && slices.Contains(op.AttrNames, "seed") {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s", g.seed, weight)
		object["seed"] = h.Sum64() & math.MaxInt32
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	a, err := op.DecodeAttrs(data)
	if err != nil {
		return nil, err
	}
	return &initializer{op, a}, nil
}

// Initialization returns the program that gives the variables of programs their first values.
func Initialization(programs ...*Program) (*Program, error) {
	p := &Program{Name: "initialization"}
	seen := map[*info]bool{}
	for _, q := range programs {
		for _, v := range q.Variables {
			if seen[v.info] {
				continue
			}
			seen[v.info] = true
			n, err := v.init.node(v)
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.name, err)
			}
			inv, err := n.Op.Invoke(n)
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.name, err)
			}
			p.Steps = append(p.Steps, Step{Phase: Initialize, Invocation: inv})
		}
	}
	p.collect()
	return p, nil
}

// node returns a node of the initialiser whose output is the variable v.
func (in *initializer) node(v Tensor) (*Node, error) {
	out := slices.IndexFunc(in.op.Slots, func(s task.Slot) bool { return s.Provided })
	if out < 0 {
		return nil, fmt.Errorf("operator %s: want an output that the caller provides, as an initialiser has", in.op.Name)
	}
	given := task.NoneGiven(&in.op.Operator)
	given.Operands[out] = []task.Operand{v.operand}
	res, err := task.Resolve(&in.op.Operator, in.attrs, given)
	if err != nil {
		return nil, err
	}
	n := &Node{Op: in.op, Name: v.name, Attrs: in.attrs, Resolved: res, slots: make([][]Tensor, len(in.op.Slots))}
	n.slots[out] = []Tensor{v}
	return n, nil
}
