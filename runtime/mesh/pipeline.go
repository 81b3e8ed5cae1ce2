package mesh

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Pipeline says that stages compute a network one after the other, each on devices of its own, and that they
// work on micro-batches at the same time. Both belong to the program: one rank computes the same bits.
type Pipeline struct {
	// Stages lists all stages except the first.
	Stages []Stage
	// Batches is the number of micro-batches.
	Batches int
	// Cut lists the dimensions that are cut into micro-batches. Those of other tensors follow, as for rules
	// that divide tensors. The rules have no axis.
	Cut []Rule
}

// Stage begins with a node, in the order in which nodes were inserted.
type Stage struct {
	Node string
	// At is the place of the stage in a file, as for rules.
	At string
}

// microBatches is the axis along which tensors are cut into micro-batches. No axis of a file has this name.
const microBatches = "the micro-batches"

// every is the number of the micro-batch of what all of them have in common.
const every = -1

// piped is a step of a program that is cut into micro-batches.
type piped struct {
	graph.Step
	node  *graph.Node // of the whole program; nil if the step is none of a node
	batch int         // or every
	level int         // of the source: steps for all micro-batches lie between two levels
	stage int
}

// pipeline makes a program of micro-batches of one for a single device, and puts its steps in an order that
// keeps stages busy.
type pipeline struct {
	*Sharding
	batches int
	source  *graph.Program
	pieces  map[graph.Tensor][]graph.Tensor // by tensor that micro-batches have apart
	nodes   map[*graph.Node][]*graph.Node
	terms   map[graph.Tensor]bool // tensors without micro-batches of which each has a term of the sum
	zeros   map[graph.Tensor]bool // tensors that are filled with zeros only
	steps   []piped
	stages  int
	chart   [][]string // by stage and time: what it computes
	out     *graph.Program
	rules   Strategy // for the program of micro-batches
}

// newPipeline makes the program of micro-batches.
func newPipeline(p *graph.Program, s *Strategy) (*pipeline, error) {
	cut := &Strategy{Mesh: []Axis{{microBatches, s.Pipeline.Batches}}}
	for _, r := range s.Pipeline.Cut {
		r.Axis = microBatches
		cut.Rules = append(cut.Rules, r)
	}
	nodes, gradients := nodesOf(p)
	sharding, err := complete(nodes, cut, gradients)
	if err != nil {
		return nil, err
	}
	pl := &pipeline{Sharding: sharding, batches: s.Pipeline.Batches, source: p, pieces: map[graph.Tensor][]graph.Tensor{}, nodes: map[*graph.Node][]*graph.Node{},
		terms: map[graph.Tensor]bool{}, zeros: map[graph.Tensor]bool{}, stages: len(s.Pipeline.Stages) + 1}
	pl.classify()
	if err := pl.check(nodes); err != nil {
		return nil, err
	}
	if err := pl.cut(); err != nil {
		return nil, err
	}
	if err := pl.place(s.Pipeline.Stages); err != nil {
		return nil, err
	}
	if err := pl.order(); err != nil {
		return nil, err
	}
	pl.out = &graph.Program{Name: p.Name}
	for _, t := range p.Fetched {
		pl.out.Fetched = append(pl.out.Fetched, pl.results(t)...)
	}
	for i := range pl.steps {
		pl.out.Steps = append(pl.out.Steps, pl.steps[i].Step)
	}
	for _, list := range []struct{ from, to *[]graph.Tensor }{{&p.Fed, &pl.out.Fed}, {&p.Variables, &pl.out.Variables}} {
		for _, t := range *list.from {
			*list.to = append(*list.to, pl.of(t)...)
		}
	}
	pl.rename(s)
	return pl, pl.out.Validate()
}

// rename makes the rules of a strategy rules for the parts of tensors, which have other names.
func (pl *pipeline) rename(s *Strategy) {
	pl.rules.Mesh = s.Mesh
	named := map[string][]graph.Tensor{}
	for _, v := range pl.tensors {
		if parts, ok := pl.pieces[v.Tensor]; ok {
			named[v.Name()] = parts
		}
	}
	for _, r := range s.Rules {
		parts := named[r.Tensor]
		if len(parts) == 0 {
			pl.rules.Rules = append(pl.rules.Rules, r)
		}
		for _, t := range parts {
			r.Tensor = t.Name()
			pl.rules.Rules = append(pl.rules.Rules, r)
		}
	}
}

// apart reports whether each micro-batch has a tensor of its own: a part, or a term of a sum.
func (pl *pipeline) apart(t graph.Tensor) bool { return pl.terms[t.Root()] || pl.parted(t) }

// parted reports whether each micro-batch has a part of a tensor.
func (pl *pipeline) parted(t graph.Tensor) bool {
	return slices.ContainsFunc(pl.axes(version{pl.tensor(t), false}), func(axis string) bool { return axis != "" })
}

// divided reports whether each micro-batch has a step of its own for a step of the program.
func (pl *pipeline) divided(s *graph.Step) bool {
	switch {
	case s.Invocation != nil:
		return len(pl.uses[s.Invocation.Node]) > 0
	case s.Fill != nil:
		return pl.apart(s.Fill.Tensor)
	case s.Add != nil:
		return pl.apart(s.Add.From)
	}
	return false
}

// classify finds the tensors of which micro-batches have terms, and those that are zeros.
func (pl *pipeline) classify() {
	byNode := map[graph.Tensor]bool{} // gradients that divided nodes write
	written := map[graph.Tensor]bool{}
	for i := range pl.source.Steps {
		s := &pl.source.Steps[i]
		zeros := s.Fill != nil && s.Fill.Value == 0 && s.Fill.Identity == perm.NoRedop
		s.Each(func(t graph.Tensor, writes bool) {
			if writes && zeros && !written[t] {
				pl.zeros[t] = true
			} else if writes && !zeros {
				pl.zeros[t], written[t] = false, true
				byNode[t] = byNode[t] || pl.divided(s)
			}
			if _, gradient := pl.like[t]; !gradient && len(pl.sums[t]) > 0 {
				pl.terms[t] = true
			}
		})
	}
	for i := range pl.source.Steps {
		if a := pl.source.Steps[i].Add; a != nil && byNode[a.From.Root()] && !pl.parted(a.From) {
			pl.terms[a.From.Root()] = true
		}
	}
}

// check refuses nodes that micro-batches would change.
func (pl *pipeline) check(nodes []*graph.Node) error {
	for _, n := range nodes {
		fail := func(slot int, want, got string) error {
			return fmt.Errorf("mesh: node %s: %w", n.Name, &op.Error{Operator: n.Op.FullName(), Slot: n.Op.SlotName(slot), Want: want, Got: got})
		}
		if len(pl.uses[n]) == 0 {
			continue
		}
		if once := pl.uses[n][0].Once; once >= 0 {
			return fail(once, "a weight that each micro-batch counts", "one that counts once for all")
		}
		for _, sig := range n.Op.Signatures {
			for _, p := range sig.Params {
				for _, t := range n.Tensors(p.Slot) {
					switch {
					case p.Grad || !t.Variable():
					case pl.parted(t):
						return fail(p.Slot, "a weight that micro-batches have in common", t.String()+", of which each has a part")
					case p.Perm.Writes():
						return fail(p.Slot, "a weight that no micro-batch changes", t.String())
					}
				}
			}
		}
	}
	return nil
}

// of returns what micro-batches have of a tensor: parts or terms, or the tensor itself, which they have in
// common.
func (pl *pipeline) of(t graph.Tensor) []graph.Tensor {
	t = t.Root()
	if !pl.apart(t) {
		return []graph.Tensor{t}
	}
	if _, ok := pl.pieces[t]; !ok {
		dims := t.Shape()
		for i, axis := range pl.axes(version{pl.tensor(t), false}) {
			if axis != "" {
				dims[i] /= pl.batches
			}
		}
		for batch := range pl.batches {
			pl.pieces[t] = append(pl.pieces[t], t.Piece(0, named(t.Name(), batch), dims))
		}
	}
	return pl.pieces[t]
}

// results returns what a run leaves of a tensor: its parts, or the whole, also of a sum.
func (pl *pipeline) results(t graph.Tensor) []graph.Tensor {
	if t = t.Root(); pl.parted(t) {
		return pl.of(t)
	}
	return []graph.Tensor{t}
}

// named returns the name of what a micro-batch has.
func named(name string, batch int) string { return fmt.Sprintf("%s[micro-batch %d]", name, batch) }

// part returns what a micro-batch has of a tensor.
func (pl *pipeline) part(t graph.Tensor, batch int) graph.Tensor {
	parts := pl.of(t)
	return parts[batch%len(parts)]
}

// reach tells when a tensor has its value. A step runs at a level: first those of all micro-batches, then
// those of the first micro-batch, then those of the next.
type reach struct {
	written, read int
	apart, seen   bool // steps of micro-batches wrote it, or read it, at that level
}

// levels returns the level of each step of the source: a step for all micro-batches follows those that
// compute what it reads for each of them.
func (pl *pipeline) levels() []int {
	out := make([]int, len(pl.source.Steps))
	state := map[graph.Tensor]*reach{}
	for i := range pl.source.Steps {
		s := &pl.source.Steps[i]
		divided := pl.divided(s)
		type access struct {
			t      graph.Tensor
			writes bool
			adds   bool
		}
		var all []access
		s.Each(func(t graph.Tensor, writes bool) { all = append(all, access{t, writes, false}) })
		if inv := s.Invocation; inv != nil {
			k := 0
			for j, list := range inv.Operands {
				for _, t := range list {
					if t.Valid() {
						all[k].adds = inv.Signature.Params[j].Grad && t.Mode() == tensor.Accumulate
						k++
					}
				}
			}
		} else if s.Add != nil {
			all[0].adds = true
		}
		level := 0
		for _, a := range all {
			r := state[a.t]
			if r == nil {
				r = &reach{read: -1}
				state[a.t] = r
			}
			own := divided && (a.adds || pl.parted(a.t) || s.Invocation == nil || a.t.Node() == s.Invocation.Node)
			need := r.written
			if r.apart && !own {
				need++
			}
			if a.writes && r.read >= 0 {
				before := r.read
				if r.seen && !divided {
					before++
				}
				need = max(need, before)
			}
			level = max(level, need)
		}
		for _, a := range all {
			r := state[a.t]
			if a.writes {
				*r = reach{written: level, apart: divided, read: -1}
			} else if level >= r.read {
				r.read, r.seen = level, divided || r.seen && level == r.read
			}
		}
		out[i] = level
	}
	return out
}

// cut makes the steps of micro-batches. Gradients that they have in common add in the order of micro-batches.
func (pl *pipeline) cut() error {
	levels := pl.levels()
	for level := range slices.Max(append(levels, 0)) + 1 {
		for batch := every; batch < pl.batches; batch++ {
			for i := range pl.source.Steps {
				s := &pl.source.Steps[i]
				if levels[i] != level || pl.divided(s) != (batch != every) {
					continue
				}
				if err := pl.step(s, batch, level); err != nil {
					return fmt.Errorf("mesh: program %s, step %d: %w", pl.source.Name, i, err)
				}
			}
		}
	}
	return nil
}

// step appends a step of a micro-batch, or of all.
func (pl *pipeline) step(s *graph.Step, batch, level int) error {
	add := func(step graph.Step, n *graph.Node) {
		step.Phase = s.Phase
		pl.steps = append(pl.steps, piped{Step: step, node: n, batch: batch, level: level})
	}
	switch {
	case s.Fill != nil:
		add(graph.Step{Fill: &graph.Fill{Tensor: pl.part(s.Fill.Tensor, max(batch, 0)), Value: s.Fill.Value, Identity: s.Fill.Identity}}, nil)
		return nil
	case s.Add != nil:
		add(graph.Step{Add: &graph.Add{To: pl.part(s.Add.To, max(batch, 0)), From: pl.part(s.Add.From, max(batch, 0))}}, nil)
		return nil
	case s.Invocation == nil:
		return errSeveral(s)
	case batch == every:
		add(*s, s.Invocation.Node)
		return nil
	}
	inv := s.Invocation
	n, err := pl.node(inv.Node, batch)
	if err != nil {
		return fmt.Errorf("node %s: %w", inv.Node.Name, err)
	}
	part := &graph.Invocation{Node: n, Signature: inv.Signature, Operands: make([][]graph.Tensor, len(inv.Operands)), Passed: inv.Passed, Added: inv.Added}
	var terms []graph.Tensor
	for i, p := range inv.Signature.Params {
		if !p.Grad && len(inv.Operands[i]) > 0 {
			part.Operands[i] = n.Tensors(p.Slot)
		}
		for _, t := range inv.Operands[i] {
			if !p.Grad {
				if t.Valid() && p.Perm.Writes() && n.Op.Slots[p.Slot].Role == task.RoleOutput && pl.terms[t.Root()] {
					terms = append(terms, t.Root())
				}
				continue
			}
			if !t.Valid() {
				part.Operands[i] = append(part.Operands[i], t)
				continue
			}
			if err := pl.counts(inv.Node, p, t); err != nil {
				return err
			}
			g := pl.part(t, batch)
			if t.Mode() == tensor.Accumulate || !p.Perm.Reads() && batch > 0 && !pl.apart(t) {
				g = g.Accumulated()
			}
			part.Operands[i] = append(part.Operands[i], g)
		}
	}
	add(graph.Step{Invocation: part}, inv.Node)
	for _, t := range terms {
		if batch == 0 {
			add(graph.Step{Copy: &graph.Copy{To: t, From: pl.part(t, batch)}}, inv.Node)
		} else {
			add(graph.Step{Add: &graph.Add{To: t, From: pl.part(t, batch)}}, inv.Node)
		}
	}
	return nil
}

// counts refuses the gradient of a result that all micro-batches compute alike: each would count it.
func (pl *pipeline) counts(n *graph.Node, p task.Param, g graph.Tensor) error {
	u := pl.uses[n][0]
	if _, has := u.Axes[p.Slot]; has || u.Partial || !p.Perm.Reads() || pl.zeros[g.Root()] {
		return nil
	}
	return &op.Error{Operator: n.Op.FullName(), Slot: n.Op.SlotName(p.Slot), Want: "no gradient of what all micro-batches compute, where " + u.over.String() + " divides the other results", Got: g.String()}
}

// node returns what a node is for a micro-batch.
func (pl *pipeline) node(n *graph.Node, batch int) (*graph.Node, error) {
	list := pl.nodes[n]
	if list == nil {
		list = make([]*graph.Node, pl.batches)
		pl.nodes[n] = list
	}
	if list[batch] != nil {
		return list[batch], nil
	}
	u := &pl.uses[n][0]
	attrs, err := u.Divide(&n.Op.Operator, n.Attrs, pl.batches)
	if err != nil {
		return nil, err
	}
	tensors := map[int][]graph.Tensor{}
	for slot := range n.Op.Slots {
		role := n.Op.Slots[slot].Role
		if role == task.RoleSaved {
			continue
		}
		for _, t := range n.Tensors(slot) {
			if role == task.RoleOutput || pl.parted(t) {
				t = pl.part(t, batch)
			}
			tensors[slot] = append(tensors[slot], t) // of a sum, nodes read the whole
		}
	}
	list[batch], err = n.Piece(0, named(n.Name, batch), attrs, tensors, wholesOf(n, []use{*u}, func(string) int { return pl.batches }))
	return list[batch], err
}

// wholesOf returns the partitions of the tensors of which those of a node are parts, by slot, if the node is
// divided by uses.
func wholesOf(n *graph.Node, uses []use, size func(axis string) int) [][]partition.Partition {
	out := make([][]partition.Partition, len(n.Op.Slots))
	for slot := range n.Op.Slots {
		for k, t := range n.Resolved.Operands(slot) {
			p := partition.Undivided(t.Shape)
			if before := n.Wholes(); before != nil {
				p = before[slot][k]
				p.Degrees = slices.Clone(p.Degrees)
			}
			for _, u := range uses {
				size := size(u.over.Axis)
				switch axis, ok := u.Axes[slot]; {
				case ok:
					p.Degrees[axis] *= size
				case u.Partial && n.Op.Slots[slot].Role == task.RoleOutput:
					p.Sums = max(p.Sums, 1) * size
				default:
					p.Replicas = max(p.Replicas, 1) * size
				}
			}
			out[slot] = append(out[slot], p)
		}
	}
	return out
}
