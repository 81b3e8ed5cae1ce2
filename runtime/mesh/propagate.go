package mesh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// Sharding says how all tensors of a graph are divided: what Propagate made of a strategy.
type Sharding struct {
	strategy *Strategy
	tensors  []graph.Tensor // in the order of nodes
	same     map[dim]dim    // union-find: dimensions with the same index
	rule     map[dim]*Rule  // by representative
	sums     map[graph.Tensor][]string
	reader   map[graph.Tensor]*graph.Node // one of the nodes that read a tensor
}

// Propagate divides all tensors of a graph from the rules of a strategy. A dimension that an operator may
// divide is divided in all its tensors that have the same index, so one rule for the batch divides it through
// the whole network. Where an index is divided over which an operator adds, its output is a partial sum on
// each device, and is added before other operators read it. No other movement is inserted.
//
// It is an error, with the rules that lead to it, if an index is divided over two axes or two dimensions of a
// tensor over one, if a size does not divide an extent, or if an operator needs all of a dimension that is
// divided.
func Propagate(g *graph.Graph, s *Strategy) (*Sharding, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	out := &Sharding{strategy: s, same: map[dim]dim{}, rule: map[dim]*Rule{}, sums: map[graph.Tensor][]string{}, reader: map[graph.Tensor]*graph.Node{}}
	divisions := map[*graph.Node][]task.Division{}
	known := map[graph.Tensor]bool{}
	for _, n := range g.Nodes() {
		for slot := range n.Op.Slots {
			for _, t := range n.Tensors(slot) {
				if t = t.Root(); !known[t] {
					known[t] = true
					out.tensors = append(out.tensors, t)
				}
				if n.Op.Slots[slot].Role == task.RoleInput {
					out.reader[t] = n
				}
			}
		}
		var err error
		if divisions[n], err = n.Op.Divisions(n.Resolved); err != nil {
			return nil, fmt.Errorf("mesh: node %s: %w", n.Name, err)
		}
		for _, d := range divisions[n] {
			out.join(n, d)
		}
	}
	for i := range s.Rules {
		if err := out.apply(&s.Rules[i]); err != nil {
			return nil, err
		}
	}
	for _, t := range out.tensors {
		if err := out.checkTensor(t); err != nil {
			return nil, err
		}
	}
	for _, n := range g.Nodes() {
		if err := out.checkNode(n, divisions[n]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// find returns the representative of the dimensions that have the index of d.
func (s *Sharding) find(d dim) dim {
	for {
		next, ok := s.same[d]
		if !ok {
			return d
		}
		if after, ok := s.same[next]; ok {
			s.same[d] = after // path halving
		}
		d = next
	}
}

// join notes that the tensors of a node have one index in common.
func (s *Sharding) join(n *graph.Node, d task.Division) {
	var first *dim
	for slot := range n.Op.Slots {
		axis, ok := d.Axes[slot]
		for _, t := range n.Tensors(slot) {
			if !ok {
				continue
			}
			x := s.find(dim{t.Root(), axis})
			if first == nil {
				first = &x
			} else if x != *first {
				s.same[x] = *first
			}
		}
	}
}

// apply divides the index of a dimension that a rule names.
func (s *Sharding) apply(r *Rule) error {
	at := slices.IndexFunc(s.tensors, func(t graph.Tensor) bool { return t.Name() == r.Tensor })
	if at < 0 {
		return r.errorf("want a tensor of a node of the graph, got none of this name")
	}
	t := s.tensors[at]
	rank := len(t.Shape())
	axis := r.Dim
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return r.errorf("want a dimension of %v, got %d", t, r.Dim)
	}
	d := s.find(dim{t, axis})
	if first := s.rule[d]; first != nil && first.Axis != r.Axis {
		return r.errorf("want one axis of the mesh for an index that tensors have in common, got %v and %v", first, r)
	}
	if s.rule[d] == nil {
		s.rule[d] = r
	}
	return nil
}

// over returns the rule that divides a dimension; nil if none does. An axis of size 1 divides nothing.
func (s *Sharding) over(t graph.Tensor, axis int) *Rule {
	if r := s.rule[s.find(dim{t.Root(), axis})]; r != nil && s.strategy.size(r.Axis) > 1 {
		return r
	}
	return nil
}

// checkTensor returns an error for a tensor that cannot be divided as the rules say.
func (s *Sharding) checkTensor(t graph.Tensor) error {
	by := map[string]*Rule{}
	for axis, extent := range t.Shape() {
		r := s.over(t, axis)
		if r == nil {
			continue
		}
		if first := by[r.Axis]; first != nil {
			return r.errorf("want at most one dimension of %v over %s, got two, by %v and %v", t, r.Axis, first, r)
		}
		by[r.Axis] = r
		if size := s.strategy.size(r.Axis); extent%size != 0 {
			return r.errorf("want an axis whose size divides the extent %d of dimension %d of %v, got %d devices on %s", extent, axis, t, size, r.Axis)
		}
	}
	return nil
}

// checkNode returns an error if a node cannot be computed on the parts of its tensors, and notes which of its
// outputs are partial sums.
func (s *Sharding) checkNode(n *graph.Node, divisions []task.Division) error {
	axes := map[string]bool{} // over which the node is divided
	given := map[int][]partition.Partition{}
	var rules []string
	note := func(r *Rule) {
		if !axes[r.Axis] {
			axes[r.Axis] = true
			rules = append(rules, r.String())
		}
	}
	for slot := range n.Op.Slots {
		for _, t := range n.Tensors(slot) {
			for axis := range t.Shape() {
				if r := s.over(t, axis); r != nil {
					note(r)
				}
			}
		}
	}
	if len(axes) == 0 {
		return nil
	}
	for slot := range n.Op.Slots {
		if role := n.Op.Slots[slot].Role; role != task.RoleInput && role != task.RoleWeight {
			continue
		}
		for _, t := range n.Tensors(slot) {
			p := s.Of(t)
			for axis := range axes {
				if !slices.ContainsFunc(s.axes(t), func(a string) bool { return a == axis }) {
					p.Replicas = max(p.Replicas, 1) * s.strategy.size(axis)
				}
			}
			given[slot] = append(given[slot], p)
		}
	}
	wholes, err := n.Op.Parallel(n.Resolved, given, false)
	if err != nil {
		return fmt.Errorf("mesh: node %s, divided by %s: %w", n.Name, strings.Join(rules, " and "), err)
	}
	for slot := range n.Op.Slots {
		for k, t := range n.Tensors(slot) {
			if n.Op.Slots[slot].Role != task.RoleOutput || wholes[slot][k].Sums < 2 {
				continue
			}
			for _, d := range divisions {
				for other, axis := range d.Axes {
					if r := s.over(n.Tensor(other), axis); d.Partial && r != nil && !slices.Contains(s.sums[t.Root()], r.Axis) {
						s.sums[t.Root()] = append(s.sums[t.Root()], r.Axis)
					}
				}
			}
			slices.Sort(s.sums[t.Root()])
		}
	}
	return nil
}

// axes returns, by dimension of a tensor, the axis of the mesh over which it is divided; "" if it is not.
func (s *Sharding) axes(t graph.Tensor) []string {
	out := make([]string, len(t.Shape()))
	for axis := range out {
		if r := s.over(t, axis); r != nil {
			out[axis] = r.Axis
		}
	}
	return out
}

// Of returns the partition of a tensor, without replicas.
func (s *Sharding) Of(t graph.Tensor) partition.Partition {
	p := partition.Undivided(t.Shape())
	for axis, name := range s.axes(t) {
		if name != "" {
			p.Degrees[axis] = s.strategy.size(name)
		}
	}
	return p
}

// Replicas returns the number of replicas of graph.DataParallel that the sharding stands for: all devices
// have all weights, and each a part of the samples, which are the first dimension of inputs. It is an error
// if other dimensions are divided, if operators read sums over samples, or if not all axes of the mesh are
// used.
func (s *Sharding) Replicas() (int, error) {
	used := map[string]bool{}
	for _, t := range s.tensors {
		for axis := range t.Shape() {
			r := s.over(t, axis)
			if r == nil {
				continue
			}
			used[r.Axis] = true
			switch {
			case t.Variable():
				return 0, r.errorf("want replicas, which have all weights, got the weight %v divided along dimension %d", t, axis)
			case t.Node() == nil && axis > 0:
				return 0, r.errorf("want replicas, which have parts of the first dimension of inputs, got %v divided along dimension %d", t, axis)
			}
		}
		if n := s.reader[t]; n != nil && len(s.sums[t]) > 0 {
			return 0, fmt.Errorf("mesh: node %s: want replicas, which share nothing but gradients, got the sum %v over %s", n.Name, t, strings.Join(s.sums[t], ", "))
		}
	}
	for _, a := range s.strategy.Mesh {
		if a.Size > 1 && !used[a.Name] {
			return 0, fmt.Errorf("mesh: want a rule that divides tensors over each axis, got none for %s", a.Name)
		}
	}
	return s.strategy.Devices(), nil
}

// String lists the tensors that are divided, such as "hidden.weight [8/model, 4]", and those of which devices
// have partial sums, such as "loss [] sums over data".
func (s *Sharding) String() string {
	var b strings.Builder
	for _, t := range s.tensors {
		var dims []string
		divided := false
		for i, axis := range s.axes(t) {
			text := fmt.Sprint(t.Shape()[i])
			if axis != "" {
				divided = true
				text += "/" + axis
			}
			dims = append(dims, text)
		}
		sums := s.sums[t]
		if !divided && len(sums) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s [%s]", t.Name(), strings.Join(dims, ", "))
		if len(sums) > 0 {
			fmt.Fprintf(&b, " sums over %s", strings.Join(sums, ", "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
