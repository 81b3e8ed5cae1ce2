package taskgraph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
)

// TaskGraph is a kernel graph that is divided into tasks.
type TaskGraph struct {
	// Plan has a task for each block of each layer. Package verify has proved it. It must not be changed.
	Plan   *plan.Plan
	graph  *Graph
	places []place // per task
}

// place says which block of which layer a task computes.
type place struct {
	layer int
	block [3]int
}

// Tasks lowers the graph: each block of each layer becomes a task, tensors get places in memory, and tasks
// get the queues of workers. It proves the result. Options are those of planner.Build. A layer that reads
// elements which no layer has written is a *plan.Error.
func (g *Graph) Tasks(opts ...planner.Option) (*TaskGraph, error) {
	p := &plan.Plan{Format: plan.Format, Name: g.name}
	tg := &TaskGraph{Plan: p, graph: g}
	for _, t := range g.tensors {
		p.Roots = append(p.Roots, plan.Root{Name: t.name, Type: t.typ, Shape: slices.Clone(t.dims), Use: t.use})
	}
	for i, l := range g.layers {
		p.Calls = append(p.Calls, g.call(i, l))
		tg.lower(i, l)
	}
	if err := planner.Complete(p, opts...); err != nil {
		return nil, err
	}
	return tg, nil
}

// call describes a layer for the plan.
func (g *Graph) call(i int, l *layer) plan.Call {
	name := l.task
	if name == "" {
		name = "block"
	}
	c := plan.Call{Node: fmt.Sprintf("layer %d", i), Operator: "custom", Task: name, Phase: "forward"}
	for k, t := range slices.Concat(l.inputs, l.outputs) {
		root := plan.NoRoot
		if t != nil {
			root = region.Root(t.number)
		}
		if slot := k - len(l.inputs); slot >= 0 {
			c.Slots = append(c.Slots, fmt.Sprintf("output %d", slot))
			if of := slices.Index(l.inputs, t); of >= 0 && t != nil {
				c.InPlace = append(c.InPlace, plan.Pair{Param: k, Of: of})
			}
		} else {
			c.Slots = append(c.Slots, fmt.Sprintf("input %d", k))
		}
		c.Params = append(c.Params, []plan.Bound{{Root: root}})
	}
	return c
}

// lower appends the tasks of a layer. If footprints can say what blocks touch, tasks are tiles of one grid
// and share their accesses. Otherwise each task has boxes of its own: where blocks touch nothing of a tensor,
// and where blocks fold into one tile, of which the first writes it.
func (tg *TaskGraph) lower(number int, l *layer) {
	b := l.block
	tiles := len(b.Folds) == 0
	var access []region.Access
	var slots []*STensor
	for k, t := range slices.Concat(l.inputs, l.outputs) {
		if t == nil {
			continue
		}
		s, a := l.slot(k), region.Access{Region: region.Whole(region.Root(t.number), t.dims), Perm: perm.Read}
		if k >= len(l.inputs) {
			a.Perm = perm.Write
		}
		f, ok := s.footprint()
		tiles = tiles && ok
		a.Footprint = f
		access, slots = append(access, a), append(slots, s)
	}
	grid := b.Grid.axes()
	task := plan.Task{Call: number, Over: grid[0], Grain: 1, Inner: []op.Axis{{Over: grid[1], Grain: 1}, {Over: grid[2], Grain: 1}}, Access: access}
	for at := range b.blocks() {
		t := task
		if tiles {
			t.Tile = (at[0]*grid[1]+at[1])*grid[2] + at[2] + 1
		} else {
			t.Over, t.Inner = 1, nil
			t.Access = slices.Clone(access)
			first := !slices.ContainsFunc(b.Folds, func(axis int) bool { return at[axis] > 0 })
			for i := range t.Access {
				a := &t.Access[i]
				a.Box, a.Footprint = slots[i].box(at), nil
				if a.Perm == perm.Write && !first {
					a.Perm, a.Redop = perm.Reduce, perm.Sum
				}
			}
		}
		tg.Plan.Tasks = append(tg.Plan.Tasks, t)
		tg.places = append(tg.places, place{number, at})
	}
}

// slot returns the tile of a tensor of a layer: inputs come first.
func (l *layer) slot(k int) *STensor {
	if k < len(l.inputs) {
		return l.block.inputs[k]
	}
	return l.block.outputs[k-len(l.inputs)]
}

// blocks yields the blocks of the grid, those of one cluster after the other, and along z first.
func (b *Block) blocks() func(yield func([3]int) bool) {
	grid, cluster := b.Grid.axes(), b.Cluster.axes()
	return func(yield func([3]int) bool) {
		var outer, count [3]int
		for d := range grid {
			count[d] = grid[d] / cluster[d]
		}
		each(count, func(c [3]int) bool {
			outer = c
			return each(cluster, func(at [3]int) bool {
				for d := range at {
					at[d] += outer[d] * cluster[d]
				}
				return yield(at)
			})
		})
	}
}

// each yields the indices below some extents, those of the last first, until yield returns false.
func each(n [3]int, yield func([3]int) bool) bool {
	for x := range n[0] {
		for y := range n[1] {
			for z := range n[2] {
				if !yield([3]int{x, y, z}) {
					return false
				}
			}
		}
	}
	return true
}

// Operand is a tensor of a task.
type Operand struct {
	Tensor *DTensor
	// Offset is where the tile begins, in bytes from the beginning of the tensor.
	Offset int
	// Dims are the extents of the tile, and Strides those of the tensor, in elements.
	Dims, Strides []int
	// Box is the elements of the tensor that the tile holds.
	Box region.Box
}

// Task is a task as MPK describes it: a block, and where its operands begin.
type Task struct {
	Layer           int
	Name            string // as registered
	Block           [3]int
	Inputs, Outputs []Operand
}

// Task returns the task of a number.
func (tg *TaskGraph) Task(i int) Task {
	at := tg.places[i]
	l := tg.graph.layers[at.layer]
	out := Task{Layer: at.layer, Name: l.task, Block: at.block}
	for k, t := range slices.Concat(l.inputs, l.outputs) {
		var o Operand
		if t != nil {
			o = Operand{Tensor: t, Box: l.slot(k).box(at.block), Dims: make([]int, len(t.dims)), Strides: make([]int, len(t.dims))}
			stride := 1
			for d := len(t.dims) - 1; d >= 0; d-- {
				o.Dims[d], o.Strides[d] = o.Box.Hi[d]-o.Box.Lo[d], stride
				o.Offset += o.Box.Lo[d] * stride * t.typ.Size()
				stride *= t.dims[d]
			}
		}
		if k < len(l.inputs) {
			out.Inputs = append(out.Inputs, o)
		} else {
			out.Outputs = append(out.Outputs, o)
		}
	}
	return out
}
