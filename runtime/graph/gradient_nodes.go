package graph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/opgen/opgen/runtime/task"
)

// Gradients inserts the nodes that compute the gradients of a tensor by others, and returns these gradients,
// which have the types and shapes of the tensors wrt. They are tensors of the graph: nodes may read them,
// programs may fetch them, and training differentiates them once more, as for the penalty of a gradient or
// the product of a Hessian and a vector. If of has several elements, the gradients are those of their sum.
// Gradients of gradients are differentiated in the same way, to any order.
//
// A node that computes gradients is one of an operator that follows from the formula of another: it computes
// again what it needs of the other node. A tensor on which of does not depend has the zero Tensor as
// gradient.
//
// It is an error of the graph, with the node, the operator and the slot, if an operator on the way from wrt
// to of has no formula, or a gradient by hand that is not the derivative, or if its formula has no second
// derivative. So it is if of or wrt are no tensors of floating-point numbers of this graph, or are parts of
// tensors. After an error, all gradients are the zero Tensor.
func (g *Graph) Gradients(of Tensor, wrt ...Tensor) []Tensor {
	g.must()
	return g.gradientNodes(caller(2), map[Tensor]Tensor{of: {}}, wrt)
}

// GradientsFrom is Gradients for a sum of several tensors in which each element has a weight: the product of
// a vector and a Jacobian. weights maps a tensor to the tensor of its weights, of the same type and shape.
func (g *Graph) GradientsFrom(weights map[Tensor]Tensor, wrt ...Tensor) []Tensor {
	g.must()
	return g.gradientNodes(caller(2), weights, wrt)
}

// gradientNodes inserts the nodes of gradients, of a sum of tensors with the given weights; none are ones.
func (g *Graph) gradientNodes(by uintptr, weights map[Tensor]Tensor, wrt []Tensor) []Tensor {
	out := make([]Tensor, len(wrt))
	of := slices.SortedFunc(maps.Keys(weights), func(x, y Tensor) int { return cmp.Compare(number(x), number(y)) })
	var all []Tensor
	for _, t := range of {
		all = append(all, t)
		if w := weights[t]; w.Valid() {
			all = append(all, w)
			if t.Valid() && (w.Type() != t.Type() || !w.ShapeIs(t.Shape())) {
				g.failAt(by, fmt.Errorf("gradients: want weights like %v, got %v", t, w))
				return out
			}
		}
	}
	for _, t := range append(all, wrt...) {
		switch {
		case !t.Valid() && len(g.errs) > 0:
			return out // an error of what should have made it
		case !t.Valid() || !g.has(t) || !t.Type().IsFloat() || t.kind == gradient:
			g.failAt(by, fmt.Errorf("gradients: want floating-point tensors of this graph, got %v", t))
			return out
		}
	}
	d := &differentiation{g: g, by: by, needs: map[*info]bool{}, grads: map[*info]Tensor{}}
	switch err := d.run(of, weights, wrt); {
	case errors.Is(err, errNoted):
		return out
	case err != nil:
		g.failAt(by, fmt.Errorf("gradients: %w", err))
		return out
	}
	for i, t := range wrt {
		out[i] = d.grads[t.info]
	}
	return out
}

// number returns the number of a tensor in its graph, or -1.
func number(t Tensor) int {
	if !t.Valid() {
		return -1
	}
	return int(t.id)
}

// errNoted is returned for an error that the graph has recorded.
var errNoted = errors.New("an insertion failed")

// differentiation is reverse mode by nodes of the graph.
type differentiation struct {
	g     *Graph
	by    uintptr
	needs map[*info]bool
	grads map[*info]Tensor // the sums of contributions so far
}

// run visits the nodes on which the tensors of depend in reverse topological order, so that all contributions
// to the gradients of a node's outputs precede the node of its gradients.
func (d *differentiation) run(of []Tensor, weights map[Tensor]Tensor, wrt []Tensor) error {
	nodes, err := d.g.needed(slices.DeleteFunc(slices.Clone(of), func(t Tensor) bool { return t.kind == constant }))
	if err != nil {
		return err
	}
	for _, t := range wrt {
		d.needs[t.info] = true
	}
	flow(nodes, d.needs)
	for _, t := range of {
		if d.needs[t.info] {
			if d.grads[t.info] = weights[t]; !weights[t].Valid() {
				d.grads[t.info] = d.filled(t, 1)
			}
		}
	}
	for _, n := range slices.Backward(nodes) {
		if !n.differentiable(d.needs) || !n.reached(d.grads) {
			continue
		}
		if err := d.node(n); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	return nil
}

// filled returns a constant with the type and shape of a tensor.
func (d *differentiation) filled(like Tensor, value float64) Tensor {
	return d.g.tensor(info{name: d.g.unique("grad of " + like.name), operand: like.operand, kind: constant, value: value})
}

// node inserts the node that computes the gradients of the inputs and weights of n, and adds them up.
func (d *differentiation) node(n *Node) error {
	o, err := gradientOf(n.Op)
	if err != nil {
		return err
	}
	if n.wholes != nil {
		return fmt.Errorf("want whole tensors, got parts of %v", n.wholes)
	}
	in := Insert[int](d.g, 0, o, n.Attrs, InsertedBy(d.by))
	for slot, from := range o.Gradient.Slots {
		ts := n.slots[from.Slot]
		switch role := o.Slots[slot].Role; {
		case role == task.RoleArgument:
			if v, ok := n.passed[from.Slot]; ok {
				in.BindArg(slot, v...)
			}
		case role == task.RoleOutput:
			if slices.ContainsFunc(ts, func(t Tensor) bool { return d.needs[t.info] }) {
				in.in.wants[slot] = len(ts)
			}
		case !from.Grad:
			in.Bind(slot, ts...)
		case slices.ContainsFunc(ts, func(t Tensor) bool { return d.grads[t.info].Valid() }):
			for _, t := range ts {
				if !d.grads[t.info].Valid() {
					d.grads[t.info] = d.filled(t, 0)
				}
				in.Bind(slot, d.grads[t.info])
			}
		}
	}
	m := in.Node()
	if m == nil {
		return errNoted
	}
	m.Seed = n.Seed // it draws the same random numbers
	if err := task.CheckGradient(&o.Operator, m.Resolved); err != nil {
		return err
	}
	for slot, from := range o.Gradient.Slots {
		if o.Slots[slot].Role != task.RoleOutput {
			continue
		}
		for k, grad := range m.slots[slot] {
			if t := n.slots[from.Slot][k]; d.needs[t.info] {
				d.add(t, grad)
			}
		}
	}
	return nil
}

// add adds a contribution to the gradient of a tensor.
func (d *differentiation) add(t, grad Tensor) {
	if sum := d.grads[t.info]; sum.Valid() {
		grad = Insert[int](d.g, 0, addition, task.NoAttrs(), InsertedBy(d.by)).Bind(task.SumX, sum).Bind(task.SumY, grad).Node().Tensor(task.SumZ)
	}
	d.grads[t.info] = grad
}

// addition adds two contributions to a gradient.
var addition = &Operator{Operator: *task.Sum}

// gradients caches the operators that gradientOf returns, by operator.
var gradients sync.Map

// gradientOf returns the operator that computes the gradients of another one.
func gradientOf(o *Operator) (*Operator, error) {
	g, err := task.GradientOf(&o.Operator)
	if err != nil {
		return nil, err
	}
	same, _ := gradients.LoadOrStore(g, &Operator{Operator: *g})
	return same.(*Operator), nil
}
