package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/internal/arena"
	"github.com/opgen/opgen/runtime/internal/numbering"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Load schedules a plan for the number of workers of the engine, verifies it, allocates its memory, makes
// per-device state and binds its tasks. An error leaves the engine as it was before: state that was made is
// freed. Tensors may live in memory of the caller, where runs read and write them without a copy.
func (e *Engine) Load(p *plan.Plan, outside ...Outside) (in *Instance, err error) {
	if err := e.lock(); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, fmt.Errorf("engine: the engine is closed")
	case p == nil:
		return nil, fmt.Errorf("engine: want a plan, got nil")
	}
	if err := e.call(func() (err error) { in, err = e.load(p, outside); return err }); err != nil {
		return nil, err
	}
	return in, nil
}

// load is Load for a caller that holds the lock.
func (e *Engine) load(p *plan.Plan, outside []Outside) (in *Instance, err error) {
	if p.Schedule.Workers() != e.Workers() {
		if p, err = planner.Reschedule(p, e.Options()...); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
	}
	if err := verify.Plan(p); err != nil { // of what runs, not of what the caller gave
		return nil, fmt.Errorf("engine: %w", err)
	}
	if p.Target != e.target.Name {
		return nil, fmt.Errorf("engine: plan %s: want a plan for target %q, got one for %q", p.Name, e.target.Name, p.Target)
	}
	if have := e.backend.Devices(); p.DeviceCount() > have {
		return nil, fmt.Errorf("engine: plan %s: want a backend with %d devices, got one with %d", p.Name, p.DeviceCount(), have)
	}
	in = &Instance{engine: e, plan: p, loading: &loading{decoded: map[*task.Operator]map[string]task.Attrs{}}, stale: errNotRun, data: make([]Region, len(p.Roots)), vars: make([]*variable, len(p.Roots)),
		names: numbering.New[string](len(p.Roots)), fed: make([]bool, len(p.Roots))}
	var undo []func() error
	loaded := false
	defer func() {
		if !loaded { // after an error, a panic of a callback, or the end of the goroutine
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
	allocate := func(device int, owner string, n int64) (Region, error) {
		if device > 0 {
			owner += fmt.Sprintf(" on device %d", device)
		}
		r, err := e.alloc.allocate(device, owner, n)
		if err == nil {
			undo = append(undo, func() error { return e.alloc.free(r) })
		}
		return r, err
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		if n, added := in.names.Add(r.Name); added {
			in.roots = append(in.roots, region.Root(i))
		} else {
			in.roots[n] = region.Root(i)
		}
		if r.Use == plan.Fed && r.Last >= 0 && r.Place.Bytes > 0 {
			in.inputs = append(in.inputs, region.Root(i))
		}
		if r.Use != plan.Variable {
			continue
		}
		v := e.variables[r.Name]
		if v == nil {
			v = &variable{operand: r.Operand(), device: r.Device}
			v.set = v.operand.Bytes() == 0 // nothing is left to write
			if v.memory, err = allocate(r.Device, "variable "+r.Name, r.Place.Bytes); err != nil {
				return nil, err
			}
			e.variables[r.Name] = v
			undo = append(undo, func() error { delete(e.variables, r.Name); return nil })
		}
		if v.operand.String() != r.Operand().String() {
			return nil, fmt.Errorf("engine: variable %s: plan %s wants %v, the engine holds %v", r.Name, p.Name, r.Operand(), v.operand)
		}
		if v.device != r.Device {
			return nil, fmt.Errorf("engine: variable %s: plan %s wants it on device %d, the engine holds it on device %d", r.Name, p.Name, r.Device, v.device)
		}
		in.vars[i], in.data[i] = v, v.memory
	}
	if err = in.allocate(allocate); err != nil {
		return nil, err
	}
	if err = in.adopt(outside); err != nil {
		return nil, err
	}
	undo = append(undo, in.dropStates, in.closeProgram)
	if err = in.makeStates(); err != nil {
		return nil, err
	}
	if err = in.bind(); err != nil {
		return nil, err
	}
	if err = in.findCounted(); err != nil {
		return nil, err
	}
	in.writeSets()
	in.turn = newGuarded(func() error { return in.program.Run(in.ctx, in.steps) })
	if d, ok := in.program.(Direct); ok {
		in.direct = d.Direct()
	}
	e.instances = append(e.instances, in)
	loaded = true
	return in, nil
}

// allocate allocates the memory of the plan other than that of its variables.
func (in *Instance) allocate(allocate func(device int, owner string, n int64) (Region, error)) error {
	p := in.plan
	in.arenas, in.scratch = make([]Region, p.DeviceCount()), make([][]Region, p.DeviceCount())
	var err error
	for d := range in.arenas {
		if in.arenas[d], err = allocate(d, arenaOwner(p), p.DeviceBytes()); err != nil {
			return err
		}
		in.scratch[d] = make([]Region, in.engine.Workers())
		for w := range in.scratch[d] {
			if in.scratch[d][w], err = allocate(d, fmt.Sprintf("scratch of worker %d for plan %s", w, p.Name), p.WorkerBytes); err != nil {
				return err
			}
		}
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		if r.Place.Space == region.Arena && r.First <= r.Last {
			in.data[i] = Region{in.arenas[r.Device].Memory, r.Place.Off - int64(r.Device)*p.DeviceBytes(), r.Place.Bytes}
		}
	}
	return nil
}

// arenaOwner names the plan and its largest tensor, for the error of an arena that does not fit.
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

// bind binds the tasks of the plan.
func (in *Instance) bind() error {
	p := in.plan
	calls := make([]bound, len(p.Calls))
	q := &Queues{Plan: p, Tasks: make([]Launchable, len(p.Tasks)), Observe: in.observe()}
	for i := range p.Tasks {
		l, err := in.bindTask(&p.Tasks[i], calls)
		if err != nil {
			return fmt.Errorf("plan %s, %s: %w", p.Name, p.Label(i), err)
		}
		q.Tasks[i] = l
	}
	if err := in.checkCalls(calls); err != nil {
		return err
	}
	in.loading = nil
	in.calls = make([]*Call, len(calls))
	for i := range calls {
		in.calls[i] = calls[i].Call
	}
	var err error
	in.program, err = in.engine.backend.Compile(q)
	return err
}

// checkCalls checks that the tasks of the plan have run all steps of each call, and that workers have as much
// scratch memory as the calls need and no more.
func (in *Instance) checkCalls(calls []bound) error {
	p := in.plan
	var worker int64
	for i := range calls {
		b, c := &calls[i], &p.Calls[i]
		if b.Call == nil { // of which no step may have anything to do
			call, err := in.resolve(c)
			if err != nil {
				return fmt.Errorf("plan %s, %s: %w", p.Name, c.Node, err)
			}
			b = &bound{Call: call, steps: make([]Launchable, len(call.Signature.Steps)), step: -1}
		}
		if next := b.next(b.step + 1); next < len(b.steps) {
			return fmt.Errorf("plan %s, %s: %s.%s: want a task for step %d, got none", p.Name, c.Node, c.Operator, c.Task, next)
		}
		need := in.workerBytes(b.Signature, b.Resolved)
		if need != c.WorkerBytes {
			return fmt.Errorf("plan %s, %s: %s.%s: want %d bytes of scratch memory for each worker, got %d", p.Name, c.Node, c.Operator, c.Task, need, c.WorkerBytes)
		}
		worker = max(worker, need)
	}
	if worker != p.WorkerBytes {
		return fmt.Errorf("plan %s: want %d bytes of scratch memory for each worker, got %d", p.Name, worker, p.WorkerBytes)
	}
	return nil
}

// bindTask binds a task. calls keeps what calls are bound to, for their other steps.
func (in *Instance) bindTask(t *plan.Task, calls []bound) (Launchable, error) {
	switch {
	case t.Group != nil:
		return in.bindGroup(t.Group, calls)
	case t.Builtin != nil:
		return in.bindBuiltin(t)
	}
	call := &calls[t.Call]
	if call.Call == nil {
		c, err := in.resolve(&in.plan.Calls[t.Call])
		if err != nil {
			return nil, err
		}
		if k := c.Signature.Kind; k == task.KindInit || k == task.KindCleanup {
			return nil, fmt.Errorf("want no %s task among those that run, got one", k)
		}
		if err := in.checkState(&in.plan.Calls[t.Call], c.Signature); err != nil {
			return nil, err
		}
		c.Asked = in.plan.Calls[t.Call].Asked(c.Signature)
		if c.Rows = t.Tile > 0 && c.cutInRows(t.Step); c.Rows && in.engine.target.Name != op.CPU {
			return nil, fmt.Errorf("want whole steps for %s, got tiles of rows", in.engine.target.Name)
		}
		if call.steps, err = in.engine.backend.BindCall(c); err != nil {
			return nil, err
		}
		if len(call.steps) != len(c.Signature.Steps) {
			return nil, fmt.Errorf("want %d steps of the task, the backend bound %d", len(c.Signature.Steps), len(call.steps))
		}
		call.Call, call.step = c, -1
		in.noteIndices(t.Call, c)
	}
	if err := call.advance(t); err != nil {
		return nil, err
	}
	// The tiles of a step share their accesses.
	if len(t.Access) == 0 || call.checked != &t.Access[0] {
		if err := in.checkAccess(t, call); err != nil {
			return nil, err
		}
		if call.checked = nil; len(t.Access) > 0 && t.Tile > 0 {
			call.checked = &t.Access[0]
		}
	}
	return call.steps[t.Step], nil
}

func (in *Instance) bindGroup(g *plan.Group, calls []bound) (Launchable, error) {
	if g.Form != plan.Chain && g.Form != plan.Batch {
		return nil, fmt.Errorf("unknown form of a group %q", g.Form)
	}
	parts, over := make([]Launchable, len(g.Parts)), make([]int, len(g.Parts))
	for i := range g.Parts {
		t := &g.Parts[i]
		if t.Group != nil {
			return nil, fmt.Errorf("want tasks as parts of a group, got a group")
		}
		var err error
		if parts[i], err = in.bindTask(t, calls); err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		over[i] = t.Over
	}
	return in.engine.backend.BindGroup(g.Form, parts, over)
}

// builtins holds the permissions of the tensors of each built-in operation. all_reduce takes any number of
// tensors.
var builtins = map[string][]perm.Perm{
	"fill": {perm.Write}, "identity": {perm.Write}, "add": {perm.ReadWrite, perm.Read}, "convert": {perm.Write, perm.Read},
	"copy": {perm.Write, perm.Read}, "all_reduce": nil, "send": {perm.Read}, "receive": {perm.Write},
}

func (in *Instance) bindBuiltin(t *plan.Task) (Launchable, error) {
	perms, ok := builtins[t.Builtin.Op]
	if !ok {
		return nil, fmt.Errorf("unknown built-in operation %q", t.Builtin.Op)
	}
	if perms == nil {
		perms = slices.Repeat([]perm.Perm{perm.ReadWrite}, len(t.Access))
	}
	if len(t.Access) != len(perms) || len(perms) == 0 {
		return nil, fmt.Errorf("want %s with %d tensors, got %d", t.Builtin.Op, len(perms), len(t.Access))
	}
	if t.Elementwise && (t.Crosses() || t.Talks()) {
		return nil, fmt.Errorf("want %s as a task that does not run element by element, got one that does", t.Builtin.Op)
	}
	if t.Talks() && t.Ranges() != 1 {
		return nil, fmt.Errorf("want %s in one range, got %d", t.Builtin.Op, t.Ranges())
	}
	b := &Builtin{Builtin: t.Builtin, Device: t.Device, Over: t.Over}
	sliced := t.Talks() || t.Builtin.Op == "all_reduce" // may be of some elements of each tensor
	for i := range t.Access {
		a := &t.Access[i]
		root := &in.plan.Roots[a.Root]
		lo, hi := 0, shape.Prod(root.Shape)
		ok := a.Perm == perms[i] && a.Redop == perm.NoRedop
		switch {
		case !ok:
		case sliced && hi > 0:
			lo, hi, ok = a.Run(root.Shape)
		default:
			ok = a.Covers(root.Shape)
		}
		if !ok || hi-lo != t.Over {
			return nil, fmt.Errorf("want %d elements of each tensor that follow each other, and an access to %v, got %v %v", t.Over, perms[i], a.Perm, a.Region)
		}
		o := root.Operand()
		size := int64(root.Type.Size())
		data := in.data[a.Root]
		if data.Size > 0 {
			data = Region{data.Memory, data.Off + int64(lo)*size, int64(hi-lo) * size}
		}
		if hi-lo < shape.Prod(root.Shape) {
			o.Shape = []int{hi - lo}
		}
		b.Tensors = append(b.Tensors, Tensor{Operand: o, Region: data})
	}
	return in.engine.backend.BindBuiltin(b)
}

// resolve finds the kernel of a call, and resolves its operator again for what it was given. The result
// determines which tensors the call must have.
func (in *Instance) resolve(c *plan.Call) (*Call, error) {
	reg, err := in.engine.registry.Find(c.ID, c.Operator)
	if err != nil {
		return nil, err
	}
	if reg == nil {
		for _, o := range in.engine.registry.Operators() {
			if o.Module != "" && o.Name == c.Operator {
				return nil, fmt.Errorf("want a registered task %s.%s, got none of id %v; if it is one of %s, the plan was made when names of operators had no module, and has to be made again",
					c.Operator, c.Task, c.ID, o.FullName())
			}
		}
		return nil, fmt.Errorf("want a registered task %s.%s, got none of id %v; call Register of the catalogue that opgen generates with %s", c.Operator, c.Task, c.ID, c.Operator)
	}
	sig := reg.Signature
	if err := checkNames(c, sig); err != nil {
		return nil, err
	}
	operator := sig.Operator
	attrs, err := in.attrs(operator, c.Attrs)
	if err != nil {
		return nil, err
	}
	given := in.loading.none(operator)
	for name, operands := range c.Given {
		if s := operator.SlotNamed(name); s >= 0 {
			given.Operands[s] = operands
		}
	}
	for _, name := range c.Requested {
		if s := operator.SlotNamed(name); s >= 0 {
			given.Requested[s]++
		}
	}
	for name, places := range c.Places {
		if s := operator.SlotNamed(name); s >= 0 {
			if given.Places == nil {
				given.Places = map[int][]int{}
			}
			given.Places[s] = places
		}
	}
	for name, n := range c.Values {
		if s := operator.SlotNamed(name); s >= 0 {
			given.Values[s] = n
		}
	}
	res, err := in.loading.resolve(operator, attrs, given)
	if err != nil {
		return nil, err
	}
	if err := checkValues(c, sig, res); err != nil {
		return nil, err
	}
	variant, err := reg.Variant(in.engine.target.Name, in.engine.target.Types(res.Types))
	if err != nil {
		return nil, err
	}
	if err := in.checkParams(c, sig, res); err != nil {
		return nil, err
	}
	if err := checkInPlace(c, sig); err != nil {
		return nil, err
	}
	passed, err := decodePassed(c, sig)
	if err != nil {
		return nil, err
	}
	limits, err := in.checkConstraints(c, sig, res, passed)
	if err != nil {
		return nil, err
	}
	call := &Call{Device: c.Device, Signature: sig, Variant: variant, Attrs: attrs, Resolved: res, Seed: c.Seed, Passed: passed, Profiling: in.engine.config.profiling(), Params: in.tensors(c, sig, res), Wholes: wholes(c, operator), limits: limits}
	call.Handle = task.Handle{Device: c.Device}
	if l, ok := in.engine.backend.(Librarian); ok {
		call.Handle.Library = l.Library(c.Device)
	}
	if s := in.states[c.Node]; s != nil {
		call.States = s.values
	}
	return call, nil
}

// attrs decodes the attributes of an operator. Calls whose attributes are the same text share them.
func (in *Instance) attrs(o *task.Operator, text []byte) (task.Attrs, error) {
	if in.loading == nil {
		return o.DecodeAttrs(text)
	}
	decoded := in.loading.decoded
	attrs, ok := decoded[o][string(text)]
	if ok {
		return attrs, nil
	}
	attrs, err := o.DecodeAttrs(text)
	if err != nil {
		return attrs, err
	}
	if decoded[o] == nil {
		decoded[o] = map[string]task.Attrs{}
	}
	decoded[o][string(text)] = attrs
	return attrs, nil
}

// loading is what calls share while a plan is loaded. A nil loading keeps nothing.
type loading struct {
	limiter     task.Limiter
	resolutions task.Resolutions
	decoded     map[*task.Operator]map[string]task.Attrs // by operator and text
	given       task.Given                               // of the last call, for its memory
	tensors     arena.Arena[Tensor]
	params      arena.Arena[[]Tensor]
}

// none returns a Given for an operator in which every slot is left out.
func (l *loading) none(o *task.Operator) task.Given {
	if l == nil {
		return task.NoneGiven(o)
	}
	n := len(o.Slots)
	if len(l.given.Operands) < n {
		l.given = task.NoneGiven(o)
	}
	given := task.Given{Operands: l.given.Operands[:n], Requested: l.given.Requested[:n], Values: l.given.Values[:n]}
	clear(given.Operands)
	clear(given.Requested)
	clear(given.Values)
	return given
}

// resolve applies an operator to what is given, whose memory the next call uses again.
func (l *loading) resolve(o *task.Operator, attrs task.Attrs, given task.Given) (*task.Resolution, error) {
	if l == nil {
		return task.Resolve(o, attrs, given)
	}
	return l.resolutions.Resolve(o, attrs, given)
}

// limits checks a launch against its constraints.
func (l *loading) limits(sig *task.Signature, res *task.Resolution, stores [][]*partition.Store, passed *task.Passed, added []partition.Constraint) (*partition.Limits, error) {
	var limiter *task.Limiter
	if l != nil {
		limiter = &l.limiter
	}
	return limiter.Limits(sig, res, stores, passed.All(), added)
}

// wholes returns, by slot, the partitions of the tensors of which those of a call are parts; nil if they are
// whole.
func wholes(c *plan.Call, o *task.Operator) [][]partition.Partition {
	if len(c.Wholes) == 0 {
		return nil
	}
	out := make([][]partition.Partition, len(o.Slots))
	for i := range o.Slots {
		out[i] = c.Wholes[o.Slots[i].Name]
	}
	return out
}

// tensors returns the memory of a call's parameters.
func (in *Instance) tensors(c *plan.Call, sig *task.Signature, res *task.Resolution) [][]Tensor {
	memory := in.loading
	if memory == nil {
		memory = &loading{}
	}
	out := memory.params.Make(len(sig.Params))
	var off int64 // within each worker's scratch memory
	for i, p := range sig.Params {
		if len(c.Params[i]) > 0 {
			out[i] = memory.tensors.Make(len(c.Params[i]))
		}
		for k, b := range c.Params[i] {
			if b.Root != plan.NoRoot { // else an unused gradient
				out[i][k] = Tensor{in.plan.Operand(b), in.data[b.Root], b.Mode}
			}
		}
		if !sig.Operator.Slots[p.Slot].PerWorker {
			continue
		}
		for _, o := range res.Operands(p.Slot) {
			o = in.engine.target.Operand(o)
			for _, s := range in.scratch[c.Device] {
				t := Tensor{Operand: task.Operand{Type: o.Type, Shape: slices.Clone(o.Shape)}} // without bytes, if the plan asks for too few
				if off+o.Bytes() <= s.Size {
					t.Region = Region{s.Memory, s.Off + off, o.Bytes()}
				}
				out[i] = append(out[i], t)
			}
			off += aligned(o.Bytes())
		}
	}
	return out
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
