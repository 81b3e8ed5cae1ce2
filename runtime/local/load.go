package local

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// Load checks a plan, schedules it for the engine's workers if it was made for another number,
// allocates its memory, makes per-device state and binds its tasks. If it fails, the engine is as it was
// before, and state that was made is freed.
func (e *Engine) Load(p *plan.Plan) (in *Instance, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("local: the engine is closed")
	}
	if err := plan.Check(p); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	if p.Schedule.Workers() != e.config.Workers {
		if p, err = p.Reschedule(plan.Workers(e.config.Workers)); err != nil {
			return nil, fmt.Errorf("local: %w", err)
		}
	}
	in = &Instance{engine: e, plan: p, data: make([][]byte, len(p.Roots)), vars: make([]*variable, len(p.Roots)),
		roots: map[string]region.Root{}, fed: make([]bool, len(p.Roots))}
	var undo []func() error
	defer func() {
		if err != nil {
			errs := []error{err}
			for _, f := range slices.Backward(undo) {
				errs = append(errs, f())
			}
			if err = errors.Join(errs...); len(slices.DeleteFunc(errs, func(e error) bool { return e == nil })) == 1 {
				err = errs[0]
			}
			in = nil
		}
	}()
	allocate := func(owner string, n int64) ([]byte, error) {
		b, err := e.alloc.Allocate(owner, n)
		if err == nil {
			undo = append(undo, func() error { return e.alloc.Free(b) })
		}
		return b, err
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		in.roots[r.Name] = region.Root(i)
		if r.Use == plan.Fed && r.Last >= 0 && r.Place.Bytes > 0 {
			in.inputs = append(in.inputs, region.Root(i))
		}
		if r.Use != plan.Variable {
			continue
		}
		v := e.variables[r.Name]
		if v == nil {
			v = &variable{operand: r.Operand()}
			v.set = v.operand.Bytes() == 0 // nothing is left to write
			if v.bytes, err = allocate("variable "+r.Name, r.Place.Bytes); err != nil {
				return nil, err
			}
			e.variables[r.Name] = v
			undo = append(undo, func() error { delete(e.variables, r.Name); return nil })
		}
		if v.operand.String() != r.Operand().String() {
			return nil, fmt.Errorf("local: variable %s: plan %s wants %v, the engine holds %v", r.Name, p.Name, r.Operand(), v.operand)
		}
		in.vars[i], in.data[i] = v, v.bytes
	}
	if in.arena, err = allocate(arenaOwner(p), p.ArenaBytes); err != nil {
		return nil, err
	}
	for i := range p.Roots {
		if pl := p.Roots[i].Place; pl.Space == region.Arena && p.Roots[i].First <= p.Roots[i].Last {
			in.data[i] = in.arena[pl.Off : pl.Off+pl.Bytes : pl.Off+pl.Bytes]
		}
	}
	in.scratch = make([][]byte, e.config.Workers)
	for w := range in.scratch {
		if in.scratch[w], err = allocate(fmt.Sprintf("scratch of worker %d for plan %s", w, p.Name), p.WorkerBytes); err != nil {
			return nil, err
		}
	}
	undo = append(undo, in.dropStates)
	if err = in.makeStates(); err != nil {
		return nil, err
	}
	if err = in.bind(); err != nil {
		return nil, err
	}
	in.writeSets()
	e.instances = append(e.instances, in)
	return in, nil
}

// arenaOwner names the largest tensor of the plan, for the error if its arena does not fit.
func arenaOwner(p *plan.Plan) string {
	owner, most := "plan "+p.Name, int64(-1)
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Place.Space == region.Arena && r.Place.Bytes > most {
			most = r.Place.Bytes
			owner = fmt.Sprintf("plan %s (largest tensor %s, %d bytes)", p.Name, r.Name, most)
		}
	}
	return owner
}

// bind makes one body for each task of the plan.
func (in *Instance) bind() error {
	p, e := in.plan, in.engine
	bodies := make([][]op.Body, len(p.Calls))
	tasks := make([]exec.Task, len(p.Tasks))
	if e.config.Profile {
		in.times, in.took = make([]Timing, len(p.Tasks)), make([]time.Duration, len(p.Tasks))
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		body, err := in.body(t, bodies)
		if err != nil {
			return fmt.Errorf("plan %s, %s: %w", p.Name, p.Label(i), err)
		}
		if o := e.config.Observer; o != nil {
			body = o.Observe(p, i, e.config.Workers, body)
		}
		tasks[i] = exec.Task{Body: body, Over: t.Over, Grain: t.Grain}
		if in.times != nil {
			in.times[i].Label = p.Label(i)
		}
	}
	var err error
	in.program, err = exec.NewProgram(&p.Schedule, tasks)
	return err
}

// body returns what a task runs. The bodies of calls are kept for their other steps.
func (in *Instance) body(t *plan.Task, bodies [][]op.Body) (op.Body, error) {
	if t.Group != nil {
		return in.group(t.Group, bodies)
	}
	if t.Builtin != nil {
		return in.builtin(t)
	}
	if bodies[t.Call] == nil {
		b, err := in.bindCall(&in.plan.Calls[t.Call])
		if err != nil {
			return nil, err
		}
		bodies[t.Call] = b
	}
	if err := in.checkAccess(t); err != nil {
		return nil, err
	}
	if t.Step >= len(bodies[t.Call]) {
		return nil, fmt.Errorf("want step %d, the task has %d", t.Step, len(bodies[t.Call]))
	}
	return bodies[t.Call][t.Step], nil
}

func (in *Instance) bindCall(c *plan.Call) ([]op.Body, error) {
	reg := in.engine.registry.Task(c.ID)
	if reg == nil {
		return nil, fmt.Errorf("want a registered task %s.%s, got none of id %v", c.Operator, c.Task, c.ID)
	}
	sig := reg.Signature
	operator := sig.Operator
	attrs, err := operator.DecodeAttrs(c.Attrs)
	if err != nil {
		return nil, err
	}
	given := task.NoneGiven(operator)
	for name, operands := range c.Given {
		if s := operator.SlotNamed(name); s >= 0 {
			given.Operands[s] = operands
		}
	}
	for _, name := range c.Requested {
		if s := operator.SlotNamed(name); s >= 0 {
			given.Requested[s] = true
		}
	}
	res, err := task.Resolve(operator, attrs, given)
	if err != nil {
		return nil, err
	}
	variant, err := reg.Variant(op.CPU, res.Types)
	if err != nil {
		return nil, err
	}
	if len(c.Params) != len(sig.Params) {
		return nil, &op.Error{Operator: operator.Name, Task: sig.Task, Want: fmt.Sprintf("%d parameters", len(sig.Params)), Got: fmt.Sprint(len(c.Params))}
	}
	if err := in.checkParams(c, sig, res); err != nil {
		return nil, err
	}
	passed, err := passed(c, sig)
	if err != nil {
		return nil, err
	}
	acc := &task.Accessor{Signature: sig, Attrs: attrs, Resolved: res, Memory: in.memory(c, sig), Workers: in.workers(sig, res), Passed: passed, State: in.state(c)}
	bodies, err := variant.Bind(acc)
	if err == nil {
		err = acc.Err()
	}
	return bodies, err
}

// passed returns the values of the arguments that the caller of a task passed, by slot.
func passed(c *plan.Call, sig *task.Signature) (map[int][]any, error) {
	values := map[int][]any{}
	for i := range sig.Args {
		a := &sig.Args[i]
		if a.From != task.FromCall {
			continue
		}
		data, ok := c.Passed[sig.Operator.Slots[a.Slot].Name]
		if !ok {
			data = []byte("[]")
		}
		var err error
		if values[a.Slot], err = a.Decode(sig, data); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// checkParams checks that a call's tensors are what the operator's rules give.
func (in *Instance) checkParams(c *plan.Call, sig *task.Signature, res *task.Resolution) error {
	for i, p := range sig.Params {
		fail := func(want, got string) error {
			return &op.Error{Operator: sig.Operator.Name, Task: sig.Task, Slot: sig.Operator.Slots[p.Slot].Name, Want: want, Got: got}
		}
		want := res.Operands(p.Slot)
		if len(c.Params[i]) > len(want) {
			return fail(fmt.Sprintf("%d tensors", len(want)), fmt.Sprint(len(c.Params[i])))
		}
		for k, b := range c.Params[i] {
			if b.Root == plan.NoRoot && p.Grad && p.Perm.Writes() {
				continue
			}
			if got, want := in.plan.Operand(b).String(), want[k].Compute().String(); got != want {
				return fail(want, in.plan.Roots[b.Root].Name+" "+got)
			}
		}
	}
	return nil
}

// checkAccess checks that a task says of all tensors of its call that it touches them: Check and the order
// of tasks rely on that.
func (in *Instance) checkAccess(t *plan.Task) error {
	c := &in.plan.Calls[t.Call]
	sig := in.engine.registry.Task(c.ID).Signature
	for i, p := range sig.Params {
		writes := p.Perm.Writes() || p.Perm == perm.Scratch
		for _, b := range c.Params[i] {
			if b.Root == plan.NoRoot || slices.ContainsFunc(t.Access, func(a region.Access) bool {
				return in.permits(&a, b.Root, writes)
			}) {
				continue
			}
			return &op.Error{Operator: sig.Operator.Name, Task: sig.Task, Slot: sig.Operator.Slots[p.Slot].Name,
				Want: fmt.Sprintf("an access to all of %s that permits to %v", in.plan.Roots[b.Root].Name, p.Perm), Got: "none"}
		}
	}
	return nil
}

// permits reports whether an access covers a root, and permits to write if asked.
func (in *Instance) permits(a *region.Access, root region.Root, write bool) bool {
	if a.Root != root || a.Perm == perm.None || write && a.Perm == perm.Read {
		return false
	}
	return a.Contains(region.Whole(root, in.plan.Roots[root].Shape))
}

// memory returns the function that finds the buffers of a call's parameters.
func (in *Instance) memory(c *plan.Call, sig *task.Signature) func(int, bool) []task.Buffer {
	return func(slot int, grad bool) []task.Buffer {
		for i, p := range sig.Params {
			if p.Slot != slot || p.Grad != grad {
				continue
			}
			var buffers []task.Buffer
			for _, b := range c.Params[i] {
				if b.Root == plan.NoRoot {
					buffers = append(buffers, task.Buffer{})
					continue
				}
				buffers = append(buffers, task.Buffer{Operand: in.plan.Operand(b), Bytes: in.data[b.Root], Mode: b.Mode})
			}
			return buffers
		}
		return nil
	}
}

// state returns the function that finds the per-device state of a call's node.
func (in *Instance) state(c *plan.Call) func(int) *task.State {
	return func(int) *task.State {
		if s := in.states[c.Node]; s != nil {
			return &s.State
		}
		return nil
	}
}

// workers returns the function that lays out a call's scratch memory in each worker's.
func (in *Instance) workers(sig *task.Signature, res *task.Resolution) func(int) []task.Buffer {
	return func(slot int) []task.Buffer {
		var off int64
		for _, p := range sig.Params {
			if p.Slot == slot {
				break
			}
			if sig.Operator.Slots[p.Slot].PerWorker {
				for _, o := range res.Operands(p.Slot) {
					o = o.Compute()
					off += (o.Bytes() + plan.Align - 1) / plan.Align * plan.Align
				}
			}
		}
		var buffers []task.Buffer
		for _, o := range res.Operands(slot) {
			o = o.Compute()
			for _, s := range in.scratch {
				b := task.Buffer{Operand: o} // without bytes, if the plan asks for too few
				if end := off + o.Bytes(); end <= int64(len(s)) {
					b.Bytes = s[off:end]
				}
				buffers = append(buffers, b)
			}
		}
		return buffers
	}
}

// writeSets notes which variables the plan reads before it writes them, and which it writes.
func (in *Instance) writeSets() {
	written := map[region.Root]bool{}
	needed := map[region.Root]bool{}
	for i := range in.plan.Tasks {
		for _, a := range in.plan.Tasks[i].Access {
			if a.Perm.Reads() && in.vars[a.Root] != nil && !written[a.Root] && !needed[a.Root] {
				needed[a.Root] = true
				in.needs = append(in.needs, int(a.Root))
			}
		}
		for _, a := range in.plan.Tasks[i].Access {
			if a.Perm.Writes() && in.vars[a.Root] != nil && !written[a.Root] {
				written[a.Root] = true
				in.writes = append(in.writes, in.vars[a.Root])
			}
		}
	}
}
