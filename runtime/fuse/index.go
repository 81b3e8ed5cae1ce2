package fuse

import (
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// index finds the steps of nodes and of tensors in a program.
type index struct {
	p       *graph.Program
	nodes   []*graph.Node // with a forward step, in order
	steps   map[*graph.Node]map[task.Kind][]int
	uses    map[graph.Tensor][]int // steps that access a tensor
	fetched map[graph.Tensor]bool
	ordered map[*graph.Node]bool // that wait for others, or that others wait for
}

func newIndex(p *graph.Program) *index {
	x := &index{p: p, steps: map[*graph.Node]map[task.Kind][]int{}, uses: map[graph.Tensor][]int{}, fetched: map[graph.Tensor]bool{}, ordered: map[*graph.Node]bool{}}
	for i := range p.Steps {
		if inv := p.Steps[i].Invocation; inv != nil {
			if x.steps[inv.Node] == nil {
				x.steps[inv.Node] = map[task.Kind][]int{}
				x.nodes = append(x.nodes, inv.Node)
			}
			for _, m := range inv.Node.Preceding() {
				x.ordered[m.Origin()], x.ordered[inv.Node.Origin()] = true, true
			}
			kind := inv.Signature.Kind
			x.steps[inv.Node][kind] = append(x.steps[inv.Node][kind], i)
		}
		p.Steps[i].Each(func(t graph.Tensor, _ bool) { x.uses[t] = append(x.uses[t], i) })
	}
	for _, t := range p.Fetched {
		x.fetched[t.Root()] = true
	}
	return x
}

// taken reports whether a node cannot be fused, because it has other steps than one of forward and at
// most one of backward, or because it has an explicit dependency.
func (x *index) taken(n *graph.Node) bool {
	if x.ordered[n.Origin()] {
		return true
	}
	for kind, steps := range x.steps[n] {
		if kind != task.KindForward && kind != task.KindBackward || len(steps) > 1 {
			return true
		}
	}
	return len(x.steps[n][task.KindForward]) != 1
}

// step returns the number of a node's step of a kind, or -1.
func (x *index) step(n *graph.Node, k task.Kind) int {
	if s := x.steps[n][k]; len(s) > 0 {
		return s[0]
	}
	return -1
}

// partners returns the nodes with which the rule could fuse n.
func (x *index) partners(n *graph.Node, rule *task.Fusion) []*graph.Node {
	var out []*graph.Node
	for _, t := range n.Tensors(rule.Share[0].Own) {
		for _, i := range x.uses[t.Root()] {
			if inv := x.p.Steps[i].Invocation; inv != nil && inv.Node != n && inv.Node.Op.FullName() == rule.Other && !slices.Contains(out, inv.Node) {
				out = append(out, inv.Node)
			}
		}
	}
	return out
}

// usedOnlyBy reports whether t is not fetched and no step but the given ones accesses it.
func (x *index) usedOnlyBy(t graph.Tensor, steps ...int) bool {
	if x.fetched[t.Root()] {
		return false
	}
	return !slices.ContainsFunc(x.uses[t.Root()], func(i int) bool { return !slices.Contains(steps, i) })
}

// insertion returns where the step that replaces two steps can be inserted: at the place of the second, if no
// step between them conflicts with the first, else at the place of the first, if none conflicts with the
// second, else -1.
func (x *index) insertion(a, b int) int {
	if a > b {
		a, b = b, a
	}
	if !x.conflicts(a, a+1, b) {
		return b
	}
	if !x.conflicts(b, a+1, b) {
		return a
	}
	return -1
}

// conflicts reports whether step s and one of the steps lo to hi-1 access the same tensor, and at least
// one of the two writes it.
func (x *index) conflicts(s, lo, hi int) bool {
	mine := map[graph.Tensor]bool{} // whether it is written
	x.p.Steps[s].Each(func(t graph.Tensor, writes bool) { mine[t] = mine[t] || writes })
	for i := lo; i < hi; i++ {
		found := false
		x.p.Steps[i].Each(func(t graph.Tensor, writes bool) {
			w, ok := mine[t]
			found = found || ok && (w || writes)
		})
		if found {
			return true
		}
	}
	return false
}

// grads returns the gradients that a backward step is bound to, by slot.
func grads(inv *graph.Invocation) map[int][]graph.Tensor {
	out := map[int][]graph.Tensor{}
	for i, p := range inv.Signature.Params {
		if p.Grad && len(inv.Operands[i]) > 0 {
			out[p.Slot] = inv.Operands[i]
		}
	}
	return out
}

// wanted reports whether a gradient is computed rather than dropped.
func wanted(ts []graph.Tensor) bool { return len(ts) == 1 && ts[0].Mode() != tensor.Discard }
