package mesh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// Sharding says how all tensors of a graph are divided: what Propagate made of a strategy.
type Sharding struct {
	strategy *Strategy
	tensors  []version                     // in the order of nodes
	like     map[graph.Tensor]graph.Tensor // tensors that are divided as others are: gradients
	moved    map[graph.Tensor]bool
	same     map[dim]dim   // union-find: dimensions with the same index
	rule     map[dim]*Rule // by representative
	sums     map[graph.Tensor][]string
	once     map[graph.Tensor]string // weights that count once, and the axis whose first devices have them
	uses     map[*graph.Node][]use
}

// use is a division of a node over an axis of the mesh.
type use struct {
	task.Division
	over *Rule
}

// Propagate divides all tensors of a graph from the rules of a strategy. A dimension that an operator may
// divide is divided in all its tensors that have the same index, so one rule for the batch divides it through
// the whole network. Where an index is divided over which an operator adds, its output is a partial sum on
// each device, and is added before other operators read it. A tensor that the strategy moves is divided anew
// between the node that writes it and those that read it.
//
// It is an error, with the rules that lead to it, if an index is divided over two axes or two dimensions of a
// tensor over one, if a size does not divide an extent, or if an operator needs all of a dimension that is
// divided.
func Propagate(g *graph.Graph, s *Strategy) (*Sharding, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	return complete(g.Nodes(), s, nil)
}

// complete divides the tensors of nodes. Gradients are divided like the tensors of which they are.
func complete(nodes []*graph.Node, s *Strategy, gradients map[graph.Tensor]graph.Tensor) (*Sharding, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	out := &Sharding{strategy: s, like: gradients, moved: map[graph.Tensor]bool{}, same: map[dim]dim{}, rule: map[dim]*Rule{}, sums: map[graph.Tensor][]string{},
		once: map[graph.Tensor]string{}, uses: map[*graph.Node][]use{}}
	if err := out.list(nodes); err != nil {
		return nil, err
	}
	divisions := map[*graph.Node][]task.Division{}
	for _, n := range nodes {
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
	for _, v := range out.tensors {
		if err := out.checkTensor(v); err != nil {
			return nil, err
		}
	}
	for _, n := range nodes {
		if err := out.checkNode(n, divisions[n]); err != nil {
			return nil, err
		}
	}
	return out, out.checkOnce(nodes)
}

// list lists the tensors of nodes, and finds those that the strategy moves.
func (s *Sharding) list(nodes []*graph.Node) error {
	byName := map[string]graph.Tensor{}
	known := map[graph.Tensor]bool{}
	var all []graph.Tensor
	for _, n := range nodes {
		for slot := range n.Op.Slots {
			for _, t := range n.Tensors(slot) {
				if t = s.tensor(t); !known[t] {
					known[t] = true
					all = append(all, t)
					byName[t.Name()] = t
				}
			}
		}
	}
	apart := map[dim]bool{}
	for i := range s.strategy.Rules {
		r := &s.strategy.Rules[i]
		if !r.Read {
			continue
		}
		t, ok := byName[r.Tensor]
		if !ok || t.Node() == nil || t.Variable() {
			return r.errorf("want the output of a node of the graph, got none of this name")
		}
		axis, err := r.dim(t)
		if err != nil {
			return err
		}
		s.moved[t], apart[dim{version{t, true}, axis}] = true, true
	}
	for _, t := range all {
		s.tensors = append(s.tensors, version{t, false})
		if !s.moved[t] {
			continue
		}
		s.tensors = append(s.tensors, version{t, true})
		for axis := range t.Shape() {
			if d := (dim{version{t, true}, axis}); !apart[d] {
				s.same[d] = dim{version{t, false}, axis}
			}
		}
	}
	return nil
}

// tensor returns the tensor that decides how t is divided.
func (s *Sharding) tensor(t graph.Tensor) graph.Tensor {
	if of, ok := s.like[t.Root()]; ok {
		return of
	}
	return t.Root()
}

// version returns the version of a tensor that a node has in a slot.
func (s *Sharding) version(n *graph.Node, slot int, t graph.Tensor) version {
	t = s.tensor(t)
	return version{t, s.moved[t] && n.Op.Slots[slot].Role == task.RoleInput}
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
			x := s.find(dim{s.version(n, slot, t), axis})
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
	at := slices.IndexFunc(s.tensors, func(v version) bool { return v.Name() == r.Tensor && v.read == r.Read })
	if at < 0 {
		return r.errorf("want a tensor of a node of the graph, got none of this name")
	}
	v := s.tensors[at]
	axis, err := r.dim(v.Tensor)
	if err != nil || r.Axis == "" {
		return err
	}
	d := s.find(dim{v, axis})
	if first := s.rule[d]; first != nil && first.Axis != r.Axis {
		return r.errorf("want one axis of the mesh for an index that tensors have in common, got %v and %v", first, r)
	}
	if s.rule[d] == nil {
		s.rule[d] = r
	}
	return nil
}

// dim returns the dimension of a tensor for which the rule is.
func (r *Rule) dim(t graph.Tensor) (int, error) {
	rank := len(t.Shape())
	axis := r.Dim
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return 0, r.errorf("want a dimension of %v, got %d", t, r.Dim)
	}
	return axis, nil
}

// over returns the rule that divides a dimension; nil if none does. An axis of size 1 divides nothing.
func (s *Sharding) over(v version, axis int) *Rule {
	if r := s.rule[s.find(dim{v, axis})]; r != nil && s.strategy.size(r.Axis) > 1 {
		return r
	}
	return nil
}

// checkTensor returns an error for a tensor that cannot be divided as the rules say.
func (s *Sharding) checkTensor(v version) error {
	by := map[string]*Rule{}
	for axis, extent := range v.Shape() {
		r := s.over(v, axis)
		if r == nil {
			continue
		}
		if first := by[r.Axis]; first != nil {
			return r.errorf("want at most one dimension of %v over %s, got two, by %v and %v", v.Tensor, r.Axis, first, r)
		}
		by[r.Axis] = r
		if size := s.strategy.size(r.Axis); extent%size != 0 {
			return r.errorf("want an axis whose size divides the extent %d of dimension %d of %v, got %d devices on %s", extent, axis, v.Tensor, size, r.Axis)
		}
	}
	return nil
}

// checkNode returns an error if a node cannot be computed on the parts of its tensors. It notes along which
// divisions the node is divided, which of its outputs are partial sums, and which weights count once.
func (s *Sharding) checkNode(n *graph.Node, divisions []task.Division) error {
	given := map[int][]partition.Partition{}
	var rules []string
	bad := false
	for slot := range n.Op.Slots {
		role := n.Op.Slots[slot].Role
		for _, t := range n.Tensors(slot) {
			v := s.version(n, slot, t)
			if role == task.RoleInput || role == task.RoleWeight {
				given[slot] = append(given[slot], s.of(v))
			}
			if role == task.RoleSaved {
				continue // no other node has it
			}
			for axis := range t.Shape() {
				r := s.over(v, axis)
				if r == nil {
					continue
				}
				if !slices.Contains(rules, r.String()) {
					rules = append(rules, r.String())
				}
				along := func(d task.Division) bool { on, ok := d.Axes[slot]; return ok && on == axis }
				at := slices.IndexFunc(divisions, along)
				known := slices.IndexFunc(s.uses[n], func(u use) bool { return u.over.Axis == r.Axis })
				switch {
				case at < 0:
					bad = true
				case known < 0:
					s.uses[n] = append(s.uses[n], use{divisions[at], r})
				case !along(s.uses[n][known].Division):
					return fmt.Errorf("mesh: node %s: %w", n.Name, &op.Error{Operator: n.Op.FullName(), Slot: n.Op.SlotName(slot),
						Want: "at most one index over " + r.Axis, Got: fmt.Sprintf("two, by %v and %v", s.uses[n][known].over, r)})
				}
			}
		}
	}
	fail := func(err error) error {
		return fmt.Errorf("mesh: node %s, divided by %s: %w", n.Name, strings.Join(rules, " and "), err)
	}
	if bad {
		return fail(s.refuse(n, given, divisions))
	}
	for _, u := range s.uses[n] {
		if u.Once >= 0 {
			w := s.tensor(n.Tensor(u.Once))
			if first, ok := s.once[w]; ok && first != u.over.Axis {
				return fail(&op.Error{Operator: n.Op.FullName(), Slot: n.Op.SlotName(u.Once), Want: "a weight that counts once over one axis of the mesh", Got: w.Name() + " over " + first + " and " + u.over.Axis})
			}
			s.once[w] = u.over.Axis
		}
		for slot := range n.Op.Slots {
			if _, has := u.Axes[slot]; has || !u.Partial || n.Op.Slots[slot].Role != task.RoleOutput {
				continue
			}
			for _, t := range n.Tensors(slot) {
				s.sums[s.tensor(t)] = append(s.sums[s.tensor(t)], u.over.Axis)
				slices.Sort(s.sums[s.tensor(t)])
			}
		}
	}
	return nil
}

// refuse returns why a node is not divided as its inputs and weights are.
func (s *Sharding) refuse(n *graph.Node, given map[int][]partition.Partition, divisions []task.Division) error {
	for slot := range n.Op.Slots {
		if _, err := n.Op.Parallel(n.Resolved, map[int][]partition.Partition{slot: given[slot]}, false); err != nil && len(given[slot]) > 0 {
			return err
		}
	}
	fits := map[string]bool{}
	for _, d := range divisions {
		for slot, axis := range d.Axes {
			fits[fmt.Sprintf("dimension %d of %s", axis, n.Op.SlotName(slot))] = true
		}
	}
	return &op.Error{Operator: n.Op.FullName(), Want: "one of the divisions that follow from its formula: " + list(fits), Got: fmt.Sprintf("%v", given)}
}

// checkOnce returns an error for a weight that counts once in one node, and of which another reads all.
func (s *Sharding) checkOnce(nodes []*graph.Node) error {
	for _, n := range nodes {
		for slot := range n.Op.Slots {
			for _, t := range n.Tensors(slot) {
				axis, ok := s.once[s.tensor(t)]
				if !ok || n.Op.Slots[slot].Role != task.RoleWeight {
					continue
				}
				if !slices.ContainsFunc(s.uses[n], func(u use) bool { return u.Once == slot && u.over.Axis == axis }) {
					return fmt.Errorf("mesh: node %s: %w", n.Name, &op.Error{Operator: n.Op.FullName(), Slot: n.Op.SlotName(slot),
						Want: "a weight that all nodes add once over " + axis, Got: t.String() + ", of which this node needs all on each device"})
				}
			}
		}
	}
	return nil
}

// axes returns, by dimension of a version, the axis of the mesh over which it is divided; "" if it is not.
func (s *Sharding) axes(v version) []string {
	out := make([]string, len(v.Shape()))
	for axis := range out {
		if r := s.over(v, axis); r != nil {
			out[axis] = r.Axis
		}
	}
	return out
}

// Of returns the partition of a tensor, as its node writes it, without replicas.
func (s *Sharding) Of(t graph.Tensor) partition.Partition { return s.of(version{t.Root(), false}) }

func (s *Sharding) of(v version) partition.Partition {
	p := partition.Undivided(v.Shape())
	for axis, name := range s.axes(v) {
		if name != "" {
			p.Degrees[axis] = s.strategy.size(name)
		}
	}
	return p
}

// String lists the tensors that are divided, such as "hidden.weight [8/model, 4]", and those of which devices
// have partial sums, such as "loss [] sums over data". What nodes read of a tensor that is moved follows it.
func (s *Sharding) String() string {
	var b strings.Builder
	for _, v := range s.tensors {
		var dims []string
		divided := false
		for i, axis := range s.axes(v) {
			text := fmt.Sprint(v.Shape()[i])
			if axis != "" {
				divided = true
				text += "/" + axis
			}
			dims = append(dims, text)
		}
		sums := s.sums[v.Tensor]
		switch {
		case v.read:
			fmt.Fprintf(&b, "%s [%s] as it is read\n", v.Name(), strings.Join(dims, ", "))
			continue
		case !divided && len(sums) == 0 && s.once[v.Tensor] == "":
			continue
		}
		fmt.Fprintf(&b, "%s [%s]", v.Name(), strings.Join(dims, ", "))
		if len(sums) > 0 {
			fmt.Fprintf(&b, " sums over %s", strings.Join(sums, ", "))
		}
		if axis := s.once[v.Tensor]; axis != "" {
			fmt.Fprintf(&b, " once over %s", axis)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
