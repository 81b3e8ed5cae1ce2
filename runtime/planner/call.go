package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// likeCall is the key of calls that differ only in nodes and tensors.
type likeCall struct {
	signature *task.Signature
	resolved  *task.Resolution
}

// call returns a call of a node's task without tensors. Calls with the same key share the description of the
// operator's instantiation.
func (b *builder) call(phase graph.Phase, n *graph.Node, sig *task.Signature) (plan.Call, error) {
	key := likeCall{sig, n.Resolved}
	like, same := b.like[key], n.Attrs == n.Resolved.Attrs
	if like == nil || !same {
		like = &plan.Call{}
		if err := describe(like, n, sig); err != nil {
			return plan.Call{}, err
		}
	}
	if same {
		b.like[key] = like
	}
	c := *like
	c.Node, c.Phase, c.Device = n.Name, phase.String(), n.Device
	c.Params = b.params.Make(len(sig.Params))
	for i, wholes := range n.Wholes() {
		if len(wholes) > 0 {
			if c.Wholes == nil {
				c.Wholes = map[string][]partition.Partition{}
			}
			c.Wholes[sig.Operator.Slots[i].Name] = wholes
		}
	}
	for i := range c.Params {
		c.Params[i] = []plan.Bound{}
	}
	return c, nil
}

// describe fills in the parts of a call that depend on the operator's instantiation only.
func describe(c *plan.Call, n *graph.Node, sig *task.Signature) error {
	op, res := sig.Operator, n.Resolved
	attrs, err := attr.Marshal(n.Attrs)
	if err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	*c = plan.Call{Operator: op.FullName(), Task: sig.Task, ID: sig.ID, Attrs: attrs, Types: res.Types, Slots: make([]string, len(sig.Params))}
	given := res.Given()
	for i := range op.Slots {
		if len(given.Operands[i]) > 0 {
			if c.Given == nil {
				c.Given = map[string][]task.Operand{}
			}
			c.Given[op.Slots[i].Name] = given.Operands[i]
		}
		for range given.Requested[i] {
			c.Requested = append(c.Requested, op.Slots[i].Name)
		}
		if places := given.Places[i]; places != nil {
			if c.Places == nil {
				c.Places = map[string][]int{}
			}
			c.Places[op.Slots[i].Name] = places
		}
		if given.Values[i] > 0 {
			if c.Values == nil {
				c.Values = map[string]int{}
			}
			c.Values[op.Slots[i].Name] = given.Values[i]
		}
	}
	for i, p := range sig.Params {
		c.Slots[i] = op.Slots[p.Slot].Name
		if p.Grad {
			c.Slots[i] = plan.GradOf + c.Slots[i]
		}
	}
	return nil
}

// state adds the per-device state of a node to the plan, at the node's first call.
func (b *builder) state(n *graph.Node) error {
	init := n.Op.Signature(task.KindInit)
	if init == nil || b.stated[n.Name] {
		return nil
	}
	s := plan.State{Node: n.Name}
	var err error
	if s.Init, err = b.call(graph.Initialize, n, init); err != nil {
		return err
	}
	if sig := n.Op.Signature(task.KindCleanup); sig != nil {
		c, err := b.call(graph.Initialize, n, sig)
		if err != nil {
			return err
		}
		s.Cleanup = &c
	}
	b.States = append(b.States, s)
	b.stated[n.Name] = true
	return nil
}

func (b *builder) invoke(phase graph.Phase, inv *graph.Invocation, inPlace []plan.Pair) error {
	sig, res := inv.Signature, inv.Node.Resolved
	op := sig.Operator
	if err := b.state(inv.Node); err != nil {
		return err
	}
	c, err := b.call(phase, inv.Node, sig)
	if err != nil {
		return err
	}
	c.Seed = inv.Seed()
	if err := pass(&c, inv); err != nil {
		return fmt.Errorf("node %s: %w", inv.Node.Name, err)
	}
	limits, err := inv.Limits()
	if err != nil {
		return fmt.Errorf("node %s: %w", inv.Node.Name, err)
	}
	c.Added = inv.Added
	inPlace = b.unconverted(inv, inPlace)
	c.InPlace = inPlace
	tensors := 0
	for i, p := range sig.Params {
		tensors += len(inv.Operands[i])
		if p.Perm == perm.Scratch {
			tensors += len(res.Operands(p.Slot))
		}
	}
	access := b.accesses.Make(tensors)[:0]
	slots, demands := b.slots[:0], b.demands[:0] // per access: the parameter for its footprint, or -1 for a view, and what constraints demand
	var made []int                               // accesses of tensors that the call itself writes first
	var worker int64
	var conv conversions
	for i, p := range sig.Params {
		if p.Perm == perm.Scratch {
			for _, o := range res.Operands(p.Slot) {
				o = b.target.Operand(o)
				if op.Slots[p.Slot].PerWorker {
					worker += align(o.Bytes())
					continue
				}
				r := b.add(plan.Root{Name: fmt.Sprintf("%s.%s.%s", inv.Node.Name, sig.Task, op.Slots[p.Slot].Name), Type: o.Type, Shape: o.Shape, Device: inv.Node.Device})
				c.Params[i] = append(c.Params[i], plan.Bound{Root: r})
				access, slots = append(access, b.all(r, perm.Scratch)), append(slots, i)
				demands = append(demands, partition.Limit{})
			}
			continue
		}
		if n := len(inv.Operands[i]); n > 0 {
			c.Params[i] = b.bounds.Make(n)[:0]
		}
		role := op.Slots[p.Slot].Role
		makes := p.Perm == perm.ReadWrite && !p.Grad && (role == task.RoleOutput || role == task.RoleSaved)
		passed := 0 // tensors
		for k, t := range inv.Operands[i] {
			if !t.Valid() { // an unused gradient
				c.Params[i] = append(c.Params[i], plan.Bound{Root: plan.NoRoot})
				continue
			}
			var bound plan.Bound
			if b.isConverted(t) {
				bound = b.convert(&conv, &c, inv, i, k, t, makes)
			} else {
				bound.Root = b.root(t)
				if !t.ShapeIs(b.Roots[bound.Root].Shape) {
					bound.Shape = append([]int{}, t.Shape()...)
				}
				if p.Grad && p.Perm.Writes() {
					bound.Mode = t.Mode()
				}
			}
			c.Params[i] = append(c.Params[i], bound)
			a := b.all(bound.Root, effective(p, bound.Mode))
			a.Redop = p.Redop
			access, slots = append(access, a), append(slots, i)
			demand := partition.Limit{}
			if limits != nil {
				demand = limits.Of(sig.ParamName(i), passed)
			}
			demands = append(demands, demand)
			passed++
			if bound.Shape != nil {
				slots[len(slots)-1] = -1
			}
			if makes {
				made = append(made, len(access)-1)
			}
		}
	}
	b.slots, b.demands = slots, demands
	later := access // of all steps but the first
	if len(made) > 0 {
		// The first step only writes these tensors. Later steps of the call read them.
		access = b.accesses.Copy(access)
		for _, k := range made {
			access[k].Perm = perm.Write
		}
	}
	after, err := b.after(phase, inv.Node)
	if err != nil {
		return err
	}
	first := len(b.Tasks)
	b.Tasks = append(b.Tasks, conv.before...)
	b.WorkerBytes = max(b.WorkerBytes, worker)
	c.WorkerBytes = worker
	b.Calls = append(b.Calls, c)
	if b.choices != nil {
		b.used = append(b.used, likeCall{sig, res})
	}
	number := slices.Index(op.Signatures, sig)
	limit := &bounds{res, sig, number, slots, demands}
	for step := range sig.Steps {
		tiles := res.Cuts[[2]int{number, step}]
		if tiles == nil && b.tiled {
			tiles, _ = res.Tiles(number, step, c.Asked(sig)) // a step without tiles is one task
		}
		grid := res.Work(number, step)
		if grid.Tiles() == 0 {
			continue
		}
		b.step(plan.Task{Call: len(b.Calls) - 1, Step: step, Device: c.Device, Access: access, After: after, Elementwise: res.Elementwise(sig, step)},
			grid, tiles, limit)
		access = later
	}
	b.Tasks = append(b.Tasks, conv.after...)
	b.note(phase, inv.Node, first)
	return nil
}

// note records the range of a node's tasks, from first on, if other nodes explicitly depend on it.
func (b *builder) note(phase graph.Phase, n *graph.Node, first int) {
	if phase == graph.Backward || len(b.tasks) == 0 {
		return
	}
	if _, ok := b.tasks[n.Origin()]; ok {
		b.tasks[n.Origin()] = interval{first, len(b.Tasks)}
	}
}

// after returns the tasks on which a node explicitly depends.
func (b *builder) after(phase graph.Phase, n *graph.Node) ([]int, error) {
	if phase == graph.Backward {
		return nil, nil
	}
	var after []int
	for _, m := range n.Preceding() {
		tasks, ok := b.tasks[m.Origin()]
		if !ok || tasks.first < 0 {
			return nil, fmt.Errorf("plan %s: node %s (operator %s): want to run after an earlier node, got %s", b.Name, n.Name, n.Op.FullName(), m.Name)
		}
		for t := tasks.first; t < tasks.end; t++ {
			after = append(after, t)
		}
	}
	return after, nil
}

// pass encodes the arguments that the caller passes into a call of the plan.
func pass(c *plan.Call, inv *graph.Invocation) error {
	for slot, values := range inv.Passed {
		data, err := inv.Signature.Arg(slot).Encode(values)
		if err != nil {
			return err
		}
		if c.Passed == nil {
			c.Passed = map[string]json.RawMessage{}
		}
		c.Passed[inv.Signature.Operator.Slots[slot].Name] = data
	}
	return nil
}

// effective returns the permission of an access: accumulating into a gradient also reads it.
func effective(p task.Param, mode tensor.Mode) perm.Perm {
	if p.Grad && p.Perm == perm.Write && mode == tensor.Accumulate {
		return perm.ReadWrite
	}
	return p.Perm
}
