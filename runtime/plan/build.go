package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
)

// Align is the alignment of every root, in bytes: a cache line.
const Align = 64

// Build returns the plan of a program: its tasks with their memory, dependencies and queues. A task
// that reads what nothing has written, or a fetched tensor that nothing writes, is an *Error.
func Build(prog *graph.Program, opts ...Option) (*Plan, error) {
	o := apply(opts)
	b := &builder{
		plan:    &Plan{Format: Format, Name: prog.Name, Target: o.target.Name},
		target:  &o.target,
		roots:   map[graph.Tensor]region.Root{},
		tasks:   map[*graph.Node][2]int{},
		aliases: &aliases{},
	}
	if !o.plain {
		b.aliases = findAliases(prog)
	}
	for _, t := range prog.Fed {
		b.plan.Roots[b.root(t)].Use = Fed
	}
	for i, s := range prog.Steps {
		if b.aliases.idle[i] {
			b.note(s.Phase, s.Invocation.Node, len(b.plan.Tasks))
			continue
		}
		var err error
		switch {
		case s.Invocation != nil:
			err = b.invoke(s.Phase, s.Invocation, b.aliases.pairs[i])
		case s.Fill != nil:
			to := b.root(s.Fill.Tensor)
			op := Builtin{Op: "fill", Value: s.Fill.Value}
			if s.Fill.Identity != perm.NoRedop {
				op = Builtin{Op: "identity", Redop: s.Fill.Identity}
			}
			b.builtin(op, b.whole(to, perm.Write))
		case s.Add != nil:
			to, from := b.root(s.Add.To), b.root(s.Add.From)
			b.builtin(Builtin{Op: "add"}, b.whole(to, perm.ReadWrite), b.whole(from, perm.Read))
		}
		if err != nil {
			return nil, err
		}
	}
	if o.target.Fuse && !o.plain {
		b.group()
	}
	for _, t := range prog.Fetched {
		r := &b.plan.Roots[b.root(t)]
		if r.Use == Internal {
			r.Use = Fetched
		}
	}
	var fetched []region.Root
	for _, t := range prog.Fetched {
		fetched = append(fetched, b.root(t))
	}
	b.plan.lifetimes(fetched)
	if err := place(b.plan); err != nil {
		return nil, err
	}
	if err := b.plan.schedule(o); err != nil {
		return nil, err
	}
	return b.plan, nil
}

type builder struct {
	plan    *Plan
	target  *target.Target
	roots   map[graph.Tensor]region.Root
	tasks   map[*graph.Node][2]int // the first and the last of a node's own tasks; not those of backward
	aliases *aliases
}

// root returns the root of a tensor, which is made at its first use.
func (b *builder) root(t graph.Tensor) region.Root {
	t = b.aliases.root(t)
	if r, ok := b.roots[t]; ok {
		return r
	}
	r := b.add(Root{Name: t.Name(), Type: t.Type(), Shape: t.Shape()})
	if t.Variable() {
		b.plan.Roots[r].Use = Variable
	}
	b.roots[t] = r
	return r
}

func (b *builder) add(r Root) region.Root {
	r.Shape = append([]int{}, r.Shape...) // never null in JSON
	r.Place.Bytes = r.Operand().Bytes()
	b.plan.Roots = append(b.plan.Roots, r)
	return region.Root(len(b.plan.Roots) - 1)
}

func (b *builder) whole(r region.Root, p perm.Perm) region.Access {
	return region.Access{Region: region.Whole(r, b.plan.Roots[r].Shape), Perm: p}
}

// builtinGrain is the number of elements of a range of a built-in operation.
const builtinGrain = 16384

func (b *builder) builtin(op Builtin, access ...region.Access) {
	b.plan.Tasks = b.appendBuiltin(b.plan.Tasks, op, access...)
}

// appendBuiltin appends a built-in operation on the tensor of the first access, if it has elements.
func (b *builder) appendBuiltin(tasks []Task, op Builtin, access ...region.Access) []Task {
	over := elements(b.plan.Roots[access[0].Root].Shape)
	if over == 0 {
		return tasks
	}
	return append(tasks, Task{Call: -1, Builtin: &op, Over: over, Grain: builtinGrain, Access: access, Elementwise: true})
}

// call returns a call of a node's task, to which nothing is bound yet.
func (b *builder) call(phase graph.Phase, n *graph.Node, sig *task.Signature) (Call, error) {
	op, res := sig.Operator, n.Resolved
	attrs, err := json.Marshal(n.Attrs)
	if err != nil {
		return Call{}, fmt.Errorf("node %s: %w", n.Name, err)
	}
	c := Call{Node: n.Name, Operator: op.Name, Task: sig.Task, ID: sig.ID, Phase: phase.String(),
		Attrs: attrs, Types: res.Types, Params: make([][]Bound, len(sig.Params)), Slots: make([]string, len(sig.Params))}
	given := res.Given()
	for i := range op.Slots {
		if len(given.Operands[i]) > 0 {
			if c.Given == nil {
				c.Given = map[string][]task.Operand{}
			}
			c.Given[op.Slots[i].Name] = given.Operands[i]
		}
		if given.Requested[i] {
			c.Requested = append(c.Requested, op.Slots[i].Name)
		}
	}
	for i, p := range sig.Params {
		c.Params[i] = []Bound{}
		c.Slots[i] = op.Slots[p.Slot].Name
		if p.Grad {
			c.Slots[i] = "grad of " + c.Slots[i]
		}
	}
	return c, nil
}

// state notes the node's per-device state at its first call.
func (b *builder) state(n *graph.Node) error {
	init := n.Op.Signature(task.KindInit)
	if init == nil || slices.ContainsFunc(b.plan.States, func(s State) bool { return s.Node == n.Name }) {
		return nil
	}
	s := State{Node: n.Name}
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
	b.plan.States = append(b.plan.States, s)
	return nil
}

func (b *builder) invoke(phase graph.Phase, inv *graph.Invocation, inPlace []Pair) error {
	sig, res := inv.Signature, inv.Node.Resolved
	op := sig.Operator
	if err := b.state(inv.Node); err != nil {
		return err
	}
	c, err := b.call(phase, inv.Node, sig)
	if err != nil {
		return err
	}
	if err := c.pass(inv); err != nil {
		return fmt.Errorf("node %s: %w", inv.Node.Name, err)
	}
	inPlace = b.unconverted(inv, inPlace)
	c.InPlace = inPlace
	var access []region.Access
	var made []int // accesses of tensors that the call makes and reads
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
				r := b.add(Root{Name: fmt.Sprintf("%s.%s.%s", inv.Node.Name, sig.Task, op.Slots[p.Slot].Name), Type: o.Type, Shape: o.Shape})
				c.Params[i] = append(c.Params[i], Bound{Root: r})
				access = append(access, b.whole(r, perm.Scratch))
			}
			continue
		}
		role := op.Slots[p.Slot].Role
		makes := p.Perm == perm.ReadWrite && !p.Grad && (role == task.RoleOutput || role == task.RoleSaved)
		for k, t := range inv.Operands[i] {
			if !t.Valid() { // a gradient that nobody wants, among others of its slot
				c.Params[i] = append(c.Params[i], Bound{Root: NoRoot})
				continue
			}
			var bound Bound
			if b.isConverted(t) {
				bound = b.convert(&conv, &c, inv, i, k, t, makes)
			} else {
				bound.Root = b.root(t)
				if !shape.Equal(b.plan.Roots[bound.Root].Shape, t.Shape()) {
					bound.Shape = append([]int{}, t.Shape()...)
				}
				if p.Grad && p.Perm.Writes() {
					bound.Mode = t.Mode()
				}
			}
			c.Params[i] = append(c.Params[i], bound)
			a := b.whole(bound.Root, effective(p, bound.Mode))
			a.Redop = p.Redop
			access = append(access, a)
			if makes {
				made = append(made, len(access)-1)
			}
		}
	}
	later := access // of all steps but the first
	if len(made) > 0 {
		// To the others, the first step writes these: only its own call reads what it leaves there.
		access = slices.Clone(access)
		for _, k := range made {
			access[k].Perm = perm.Write
		}
	}
	after, err := b.after(phase, inv.Node)
	if err != nil {
		return err
	}
	first := len(b.plan.Tasks)
	b.plan.Tasks = append(b.plan.Tasks, conv.before...)
	b.plan.WorkerBytes = max(b.plan.WorkerBytes, worker)
	b.plan.Calls = append(b.plan.Calls, c)
	number := slices.Index(op.Signatures, sig)
	for step := range sig.Steps {
		w := res.Work(number, step)
		if w.Over == 0 {
			continue
		}
		b.plan.Tasks = append(b.plan.Tasks, Task{Call: len(b.plan.Calls) - 1, Step: step, Over: w.Over, Grain: w.Grain, Access: access, After: after, Elementwise: sig.Steps[step].Elementwise})
		access = later
	}
	b.plan.Tasks = append(b.plan.Tasks, conv.after...)
	b.note(phase, inv.Node, first)
	return nil
}

// note notes that the tasks from number first on are those of a node.
func (b *builder) note(phase graph.Phase, n *graph.Node, first int) {
	if phase != graph.Backward {
		b.tasks[n.Origin()] = [2]int{first, len(b.plan.Tasks)}
	}
}

// after returns the tasks of the nodes after which a node explicitly runs.
func (b *builder) after(phase graph.Phase, n *graph.Node) ([]int, error) {
	if phase == graph.Backward {
		return nil, nil
	}
	var after []int
	for _, m := range n.Preceding() {
		tasks, ok := b.tasks[m.Origin()]
		if !ok {
			return nil, fmt.Errorf("plan %s: node %s (operator %s): want to run after an earlier node, got %s", b.plan.Name, n.Name, n.Op.Name, m.Name)
		}
		for t := tasks[0]; t < tasks[1]; t++ {
			after = append(after, t)
		}
	}
	return after, nil
}

// pass notes the values of the arguments that the caller passes.
func (c *Call) pass(inv *graph.Invocation) error {
	for slot, values := range inv.Passed {
		data, err := json.Marshal(values)
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

// lifetimes fills in First and Last of every root.
func (p *Plan) lifetimes(fetched []region.Root) {
	for i := range p.Roots {
		p.Roots[i].First, p.Roots[i].Last = len(p.Tasks), -1
	}
	for i := range p.Tasks {
		for _, a := range p.Tasks[i].Access {
			r := &p.Roots[a.Root]
			r.First, r.Last = min(r.First, i), max(r.Last, i)
		}
	}
	for i := range p.Roots {
		if p.Roots[i].Use == Fed {
			p.Roots[i].First = -1
		}
	}
	for _, r := range fetched {
		p.Roots[r].Last = len(p.Tasks)
	}
}
