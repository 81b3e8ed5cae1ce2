package cost

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
)

// Work returns the work of each task of a plan, as the specs of operators state it: its operations, and the
// bytes that it moves, or else the bytes of all that it accesses. The steps of a call have equal parts of its
// operations. The tiles of a step have parts in proportion to their indices. Work returns an error if the
// plan has calls that the program does not have.
func Work(prog *graph.Program, p *plan.Plan) ([]simulate.Work, error) {
	e := estimate{plan: p, calls: map[invoked]*graph.Invocation{}, steps: make([]int, len(p.Calls))}
	for _, s := range prog.Steps {
		if inv := s.Invocation; inv != nil {
			e.calls[invoked{inv.Node.Name, s.Phase.String(), inv.Signature.ID}] = inv
		}
	}
	seen := map[[2]int]bool{} // steps, by call and number: a plan may leave some out
	for i := range p.Tasks {
		parts := []plan.Task{p.Tasks[i]}
		if g := p.Tasks[i].Group; g != nil {
			parts = g.Parts
		}
		for k := range parts {
			if at := [2]int{parts[k].Call, parts[k].Step}; at[0] >= 0 && !seen[at] {
				seen[at] = true
				e.steps[at[0]]++
			}
		}
	}
	work := make([]simulate.Work, len(p.Tasks))
	for i := range p.Tasks {
		parts := []plan.Task{p.Tasks[i]}
		if g := p.Tasks[i].Group; g != nil {
			parts = g.Parts
		}
		for k := range parts {
			w, err := e.of(&parts[k])
			if err != nil {
				return nil, fmt.Errorf("cost: plan %s, task %d, %s: %w", p.Name, i, p.Label(i), err)
			}
			work[i].Flops += w.Flops
			work[i].Bytes += w.Bytes
		}
	}
	return work, nil
}

// invoked tells the invocations of a program apart.
type invoked struct {
	node, phase string
	id          task.ID
}

// estimate is what Work needs of a plan.
type estimate struct {
	plan  *plan.Plan
	calls map[invoked]*graph.Invocation
	steps []int // per call: how many the plan has
	box   region.Box
}

// of returns what a task or a part of a group takes.
func (e *estimate) of(t *plan.Task) (w simulate.Work, err error) {
	for i, a := range t.Access {
		t.On(i, &e.box)
		n := float64(e.box.Volume() * e.plan.Roots[a.Root].Type.Size())
		if a.Perm.Reads() {
			w.Bytes += n
		}
		if a.Perm.Writes() {
			w.Bytes += n
		}
	}
	if t.Call < 0 {
		return w, nil
	}
	c := &e.plan.Calls[t.Call]
	inv := e.calls[invoked{c.Node, c.Phase, c.ID}]
	if inv == nil {
		return w, fmt.Errorf("want a call of the program, got %s of node %s", c.Task, c.Node)
	}
	spec := inv.Node.Resolved.Cost(slices.Index(inv.Signature.Operator.Signatures, inv.Signature))
	if !spec.Known {
		return w, nil
	}
	part := 1 / float64(e.steps[t.Call])
	if t.Tile > 0 {
		g := t.Grid()
		part *= g.Part(t.Tile - 1)
	}
	w.Flops = spec.Flops * part
	if spec.Bytes > 0 {
		w.Bytes = spec.Bytes * part
	}
	return w, nil
}
