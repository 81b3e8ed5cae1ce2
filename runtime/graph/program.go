package graph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Phase is the part of a training step to which a program step belongs.
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

// Step is one step of a program: an invocation, or a built-in operation of every engine. Exactly one of the
// pointers is set.
type Step struct {
	Phase      Phase
	Invocation *Invocation
	Fill       *Fill
	Add        *Add
	Copy       *Copy
	AllReduce  *AllReduce
}

// Each calls f for every tensor that the step accesses, without the accumulate flag of gradients, and
// without unused gradients.
func (s *Step) Each(f func(t Tensor, writes bool)) {
	switch {
	case s.Fill != nil:
		f(s.Fill.Tensor.Root(), true)
	case s.Add != nil:
		f(s.Add.To.Root(), true)
		f(s.Add.From.Root(), false)
	case s.Copy != nil:
		f(s.Copy.To.Root(), true)
		f(s.Copy.From.Root(), false)
	case s.AllReduce != nil:
		for _, t := range s.AllReduce.Tensors {
			f(t.Root(), true)
		}
	case s.Invocation != nil:
		for i, ts := range s.Invocation.Operands {
			for _, t := range ts {
				if t.Valid() {
					f(t.Root(), s.Invocation.Signature.Params[i].Perm.Writes())
				}
			}
		}
	}
}

// identities returns steps that fill the targets of an invocation's reductions with the identity of the
// reduction.
func identities(phase Phase, inv *Invocation) []Step {
	var out []Step
	for i, p := range inv.Signature.Params {
		if p.Perm == perm.Reduce {
			for _, t := range inv.Operands[i] {
				out = append(out, Step{Phase: phase, Fill: &Fill{Tensor: t, Identity: p.Redop}})
			}
		}
	}
	return out
}

// Fill fills a tensor with a value or, if Identity is set, with the identity of that reduction.
type Fill struct {
	Tensor   Tensor
	Value    float64
	Identity perm.Redop
}

// Add adds From to To element by element. Both have the same shape and type.
type Add struct{ To, From Tensor }

// Copy copies From to To, of the same shape and type, possibly between devices.
type Copy struct{ To, From Tensor }

// AllReduce replaces tensors by their sum. They have one shape and floating-point type, and may be on
// several devices. The order of addition is that of Tensors, so the sum has the same bits on all devices.
type AllReduce struct{ Tensors []Tensor }

// Program is a sequence of steps. Its results are those of sequential execution. The planner derives from
// permissions which steps may run in parallel.
type Program struct {
	Name  string
	Steps []Step
	// Fed lists the inputs that the caller writes before a step.
	Fed []Tensor
	// Fetched lists the tensors that the caller reads after a step.
	Fetched []Tensor
	// Variables lists the tensors that persist between steps.
	Variables []Tensor
}

// fetchCounts adds the tensors that hold dynamic row counts of other tensors to Fetched.
func (p *Program) fetchCounts() {
	var fetched map[Tensor]bool // allocated at the first count
	for i := range p.Steps {
		inv := p.Steps[i].Invocation
		if inv == nil || inv.Signature.Kind != task.KindForward {
			continue
		}
		for _, s := range inv.Node.Op.Slots {
			if s.CountedBy == "" {
				continue
			}
			n := inv.Node.Tensor(inv.Node.Op.SlotNamed(s.CountedBy))
			if fetched == nil {
				fetched = map[Tensor]bool{}
				for _, t := range p.Fetched {
					fetched[t] = true
				}
				p.Fetched = slices.Clip(p.Fetched)
			}
			if n.Valid() && !fetched[n] {
				fetched[n] = true
				p.Fetched = append(p.Fetched, n)
			}
		}
	}
}

// collect computes Fed and Variables from the steps, and adds row counts to Fetched.
func (p *Program) collect() {
	p.fetchCounts()
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
	for i := range p.Steps {
		p.Steps[i].Each(func(t Tensor, _ bool) { note(t) })
	}
	for _, t := range p.Fetched {
		note(t)
	}
}

// Inference returns the program that computes the fetched tensors in inference mode: attributes of operators
// such as dropout are overridden as their specs say.
func Inference(g *Graph, fetch ...Tensor) (*Program, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	p := &Program{Name: "inference", Fetched: fetch}
	nodes, err := g.needed(fetch)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		if nodes[i], err = n.inInference(); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	if err := p.forward(nodes); err != nil {
		return nil, err
	}
	p.collect()
	return p, nil
}

// Whole returns the program that runs the first task of every node of g, in order of insertion. For an
// optimizer's node that is the update. The fetched tensors can be read afterwards.
func Whole(g *Graph, fetch ...Tensor) (*Program, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	p := &Program{Name: "whole graph", Fetched: fetch}
	if _, err := g.needed(fetch); err != nil {
		return nil, err
	}
	all := map[*Node]bool{}
	for _, n := range g.nodes {
		all[n] = true
	}
	nodes, err := g.order(all)
	if err != nil {
		return nil, err
	}
	if err := p.forward(nodes); err != nil {
		return nil, err
	}
	p.collect()
	return p, nil
}

// needed returns the nodes on which tensors depend, in topological order.
func (g *Graph) needed(tensors []Tensor) ([]*Node, error) {
	need := map[*Node]bool{}
	for _, t := range tensors {
		if !t.Valid() || !g.has(t) {
			return nil, fmt.Errorf("graph: want a tensor of this graph, got %v", t)
		}
		if t.kind == gradient || t.kind == constant {
			return nil, fmt.Errorf("graph: want a tensor that forward computes, got %v", t)
		}
		if t.node != nil {
			need[t.node] = true
		}
	}
	return g.order(need)
}

func (p *Program) forward(nodes []*Node) error { return p.run(Forward, nodes) }

// run appends the first task of each node.
func (p *Program) run(phase Phase, nodes []*Node) error {
	filled := map[*info]bool{}
	for _, n := range nodes {
		for _, ts := range n.slots {
			for _, t := range ts {
				if t.Valid() && t.kind == constant && !filled[t.info] {
					filled[t.info] = true
					p.Steps = append(p.Steps, Step{Phase: phase, Fill: &Fill{Tensor: t, Value: t.value}})
				}
			}
		}
		inv, err := n.Invoke()
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
		p.Steps = append(p.Steps, identities(phase, inv)...)
		p.Steps = append(p.Steps, Step{Phase: phase, Invocation: inv})
	}
	return nil
}

// Gradients returns the program of forward, and of the gradients of the tensors wrt. seeds maps a tensor of
// g to the input that holds its gradient. It also returns the gradients, by tensor; a tensor on which no
// seed depends has none.
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
		if !s.Valid() || !g.has(s) || s.kind != input {
			return nil, nil, fmt.Errorf("graph: want an input of this graph as a gradient, got %v", s)
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
