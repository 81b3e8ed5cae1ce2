// Package local runs plans on the CPUs of this machine, in pure Go.
//
// Tasks run in the plan's order. The ranges of a task are shared among the engine's workers; as
// ranges are cut by shapes alone, results do not depend on the number of workers.
package local

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// Config configures an engine.
type Config struct {
	// Workers is the number of workers; 0 means one for each CPU that Go may use.
	Workers int
	// MemoryLimit bounds the bytes of tensors, 0 means no bound. It counts plans' arenas, variables
	// and workers' scratch memory.
	MemoryLimit int64
	// Profile measures the time of every task.
	Profile bool
}

// Engine runs plans on this machine. Its variables are shared, by name, among its plans. One plan
// runs at a time; calls from several goroutines wait for each other.
type Engine struct {
	registry *task.Registry
	config   Config
	alloc    *Allocator

	mu        sync.Mutex
	pool      *pool
	variables map[string]*variable
	closed    bool
}

type variable struct {
	operand task.Operand
	bytes   []byte
	set     bool // has been written
}

// New returns an engine that runs the tasks of a registry. Close it to stop its workers.
func New(registry *task.Registry, config Config) *Engine {
	if config.Workers <= 0 {
		config.Workers = runtime.GOMAXPROCS(0)
	}
	return &Engine{
		registry:  registry,
		config:    config,
		alloc:     NewAllocator(config.MemoryLimit),
		pool:      newPool(config.Workers),
		variables: map[string]*variable{},
	}
}

// Close stops the workers and frees the memory. Instances must not be used afterwards.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	e.pool.close()
	for _, v := range e.variables {
		e.alloc.Free(v.bytes)
	}
	e.variables = nil
}

// Workers returns the number of workers.
func (e *Engine) Workers() int { return e.config.Workers }

// Memory returns the engine's use of memory.
func (e *Engine) Memory() Memory { return e.alloc.Memory() }

// Instance is a plan loaded into an engine: its memory is allocated and its tasks are bound.
type Instance struct {
	engine  *Engine
	plan    *plan.Plan
	arena   []byte
	scratch [][]byte // per worker
	data    [][]byte // per root
	vars    []*variable
	roots   map[string]region.Root
	tasks   []bound
	times   []Timing
	needs   []int // roots of variables that are read before they are written
	writes  []*variable
	steps   uint64
}

type bound struct {
	body  task.Body
	over  int
	grain int
}

// Load allocates a plan's memory and binds its tasks. If it fails, the engine is as it was before.
func (e *Engine) Load(p *plan.Plan) (in *Instance, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("local: the engine is closed")
	}
	in = &Instance{engine: e, plan: p, data: make([][]byte, len(p.Roots)), vars: make([]*variable, len(p.Roots)), roots: map[string]region.Root{}}
	var undo []func()
	defer func() {
		if err != nil {
			for _, f := range undo {
				f()
			}
			in = nil
		}
	}()
	allocate := func(owner string, n int64) ([]byte, error) {
		b, err := e.alloc.Allocate(owner, n)
		if err == nil {
			undo = append(undo, func() { e.alloc.Free(b) })
		}
		return b, err
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		in.roots[r.Name] = region.Root(i)
		if r.Use != plan.Variable {
			continue
		}
		v := e.variables[r.Name]
		if v == nil {
			v = &variable{operand: r.Operand()}
			if v.bytes, err = allocate("variable "+r.Name, r.Place.Bytes); err != nil {
				return nil, err
			}
			e.variables[r.Name] = v
			undo = append(undo, func() { delete(e.variables, r.Name) })
		}
		if v.operand.String() != r.Operand().String() {
			return nil, fmt.Errorf("local: variable %s: plan %s wants %v, the engine holds %v", r.Name, p.Name, r.Operand(), v.operand)
		}
		in.vars[i], in.data[i] = v, v.bytes
	}
	if in.arena, err = allocate(arenaOwner(p, e.alloc.Memory()), p.ArenaBytes); err != nil {
		return nil, err
	}
	for i := range p.Roots {
		if pl := p.Roots[i].Place; pl.Space == region.Arena && p.Roots[i].First <= p.Roots[i].Last {
			if pl.Off < 0 || pl.Bytes < 0 || pl.Off+pl.Bytes > int64(len(in.arena)) {
				return nil, fmt.Errorf("local: plan %s: root %s lies outside the arena", p.Name, p.Roots[i].Name)
			}
			in.data[i] = in.arena[pl.Off : pl.Off+pl.Bytes : pl.Off+pl.Bytes]
		}
	}
	in.scratch = make([][]byte, e.config.Workers)
	for w := range in.scratch {
		if in.scratch[w], err = allocate(fmt.Sprintf("scratch of worker %d for plan %s", w, p.Name), p.WorkerBytes); err != nil {
			return nil, err
		}
	}
	if err = in.bind(); err != nil {
		return nil, err
	}
	in.writeSets()
	return in, nil
}

// arenaOwner names the largest tensor of the plan, for the error if its arena does not fit.
func arenaOwner(p *plan.Plan, m Memory) string {
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
	bodies := make([][]task.Body, len(p.Calls))
	in.tasks = make([]bound, len(p.Tasks))
	if e.config.Profile {
		in.times = make([]Timing, len(p.Tasks))
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		var body task.Body
		var err error
		if t.Builtin != nil {
			body, err = in.builtin(t)
		} else {
			if bodies[t.Call] == nil {
				bodies[t.Call], err = in.bindCall(&p.Calls[t.Call])
			}
			if err == nil && t.Step >= len(bodies[t.Call]) {
				err = fmt.Errorf("want step %d, the task has %d", t.Step, len(bodies[t.Call]))
			}
			if err == nil {
				body = bodies[t.Call][t.Step]
			}
		}
		if err != nil {
			return fmt.Errorf("plan %s, %s: %w", p.Name, p.Label(i), err)
		}
		in.tasks[i] = bound{body, t.Over, t.Grain}
		if in.times != nil {
			in.times[i].Label = p.Label(i)
		}
	}
	return nil
}

func (in *Instance) bindCall(c *plan.Call) ([]task.Body, error) {
	reg := in.engine.registry.Task(c.ID)
	if reg == nil {
		return nil, fmt.Errorf("want a registered task %s.%s, got none of id %v", c.Operator, c.Task, c.ID)
	}
	sig := reg.Signature
	op := sig.Operator
	attrs, err := op.DecodeAttrs(c.Attrs)
	if err != nil {
		return nil, err
	}
	given := task.NoneGiven(op)
	for name, operands := range c.Given {
		if s := op.SlotNamed(name); s >= 0 {
			given.Operands[s] = operands
		}
	}
	for _, name := range c.Requested {
		if s := op.SlotNamed(name); s >= 0 {
			given.Requested[s] = true
		}
	}
	res, err := task.Resolve(op, attrs, given)
	if err != nil {
		return nil, err
	}
	variant, err := reg.Variant(res.Types)
	if err != nil {
		return nil, err
	}
	if len(c.Params) != len(sig.Params) {
		return nil, &task.Error{Operator: op.Name, Task: sig.Task, Want: fmt.Sprintf("%d parameters", len(sig.Params)), Got: fmt.Sprint(len(c.Params))}
	}
	acc := &task.Accessor{Signature: sig, Attrs: attrs, Resolved: res, Memory: in.memory(c, sig), Workers: in.workers(sig, res)}
	bodies, err := variant.Bind(acc)
	if err == nil {
		err = acc.Err()
	}
	return bodies, err
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
				root := &in.plan.Roots[b.Root]
				buffers = append(buffers, task.Buffer{Operand: root.Operand(), Bytes: in.data[b.Root], Mode: b.Mode})
			}
			return buffers
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
					off += (o.Bytes() + plan.Align - 1) / plan.Align * plan.Align
				}
			}
		}
		var buffers []task.Buffer
		for _, o := range res.Operands(slot) {
			for _, s := range in.scratch {
				buffers = append(buffers, task.Buffer{Operand: o, Bytes: s[off : off+o.Bytes()]})
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

// TaskError reports which task of a plan failed. It wraps the kernel's error, or a *PanicError.
type TaskError struct {
	Plan  string
	Label string // node, operator and task
	Range task.Range
	Err   error
}

func (e *TaskError) Error() string {
	return fmt.Sprintf("plan %s, %s, range [%d, %d): %v", e.Plan, e.Label, e.Range.Lo, e.Range.Hi, e.Err)
}

// Unwrap returns the kernel's error.
func (e *TaskError) Unwrap() error { return e.Err }

// PanicError is a panic of a kernel.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the kernel panicked: %v", e.Value) }

func panicError(v any) error { return &PanicError{v, debug.Stack()} }

// Run runs the plan once. After an error (a *TaskError, or the context's), what the plan wrote is
// undefined, but the engine remains usable.
func (in *Instance) Run(ctx context.Context) error {
	e := in.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || in.data == nil {
		return fmt.Errorf("local: the engine or the instance is closed")
	}
	for _, r := range in.needs {
		if !in.vars[r].set {
			return fmt.Errorf("local: plan %s reads variable %s, which nothing has written yet", in.plan.Name, in.plan.Roots[r].Name)
		}
	}
	e.pool.begin(in.steps)
	defer e.pool.end()
	done := ctx.Done()
	for i := range in.tasks {
		if done != nil {
			select {
			case <-done:
				return fmt.Errorf("plan %s stopped before %s: %w", in.plan.Name, in.plan.Label(i), context.Cause(ctx))
			default:
			}
		}
		t := &in.tasks[i]
		var start time.Time
		if in.times != nil {
			start = time.Now()
		}
		if at, err := e.pool.run(t.body, t.over, t.grain); err != nil {
			return &TaskError{in.plan.Name, in.plan.Label(i), at, err}
		}
		if in.times != nil {
			in.times[i].add(time.Since(start))
		}
	}
	for _, v := range in.writes {
		v.set = true
	}
	in.steps++
	return nil
}

// Close frees the plan's arena. Variables stay with the engine.
func (in *Instance) Close() {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	if in.data != nil {
		in.engine.alloc.Free(in.arena)
		for _, s := range in.scratch {
			in.engine.alloc.Free(s)
		}
		in.arena, in.scratch, in.data, in.tasks = nil, nil, nil, nil
	}
}

// Plan returns the plan.
func (in *Instance) Plan() *plan.Plan { return in.plan }

// Uses reports whether the plan has a tensor of this name.
func (in *Instance) Uses(name string) bool {
	_, ok := in.roots[name]
	return ok
}

// Timing is the time that a task took over all runs.
type Timing struct {
	Label    string
	Runs     int
	Total    time.Duration
	Shortest time.Duration
	Longest  time.Duration
}

func (t *Timing) add(d time.Duration) {
	if t.Runs == 0 || d < t.Shortest {
		t.Shortest = d
	}
	t.Longest = max(t.Longest, d)
	t.Runs++
	t.Total += d
}

// Timings returns the time of every task, in the plan's order; nil unless the engine profiles.
func (in *Instance) Timings() []Timing {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	return append([]Timing(nil), in.times...)
}

func (in *Instance) root(name string) (region.Root, *plan.Root, error) {
	r, ok := in.roots[name]
	if !ok {
		return 0, nil, fmt.Errorf("local: plan %s has no tensor %s", in.plan.Name, name)
	}
	return r, &in.plan.Roots[r], nil
}

// Feed writes a fed tensor or a variable.
func Feed[T dtype.Element](in *Instance, name string, data []T) error {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	r, root, err := in.root(name)
	if err != nil {
		return err
	}
	if root.Use != plan.Fed && root.Use != plan.Variable {
		return fmt.Errorf("local: plan %s: want an input or a variable to feed, got %s, which the plan computes", in.plan.Name, name)
	}
	to, err := view[T](in, r)
	if err != nil {
		return err
	}
	if len(data) != len(to) {
		return fmt.Errorf("local: tensor %s: want %d elements, got %d", name, len(to), len(data))
	}
	copy(to, data)
	if v := in.vars[r]; v != nil {
		v.set = true
	}
	return nil
}

// Fetch returns a copy of a fetched tensor or of a variable.
func Fetch[T dtype.Element](in *Instance, name string) ([]T, error) {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	r, root, err := in.root(name)
	if err != nil {
		return nil, err
	}
	if root.Use != plan.Variable && root.Last < len(in.plan.Tasks) {
		return nil, fmt.Errorf("local: plan %s: want a fetched tensor or a variable, got %s, whose memory is reused", in.plan.Name, name)
	}
	from, err := view[T](in, r)
	if err != nil {
		return nil, err
	}
	return append([]T{}, from...), nil
}

func view[T dtype.Element](in *Instance, r region.Root) ([]T, error) {
	root := &in.plan.Roots[r]
	if want := dtype.Of[T](); root.Type != want {
		return nil, fmt.Errorf("local: tensor %s holds %v, not %v", root.Name, root.Type, want)
	}
	if in.data == nil {
		return nil, fmt.Errorf("local: the instance is closed")
	}
	return slice[T](in.data[r]), nil
}

// Variable returns a copy of an engine's variable and its shape.
func Variable[T dtype.Element](e *Engine, name string) ([]T, []int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	if v == nil {
		return nil, nil, fmt.Errorf("local: no variable %s", name)
	}
	if want := dtype.Of[T](); v.operand.Type != want {
		return nil, nil, fmt.Errorf("local: variable %s holds %v, not %v", name, v.operand.Type, want)
	}
	return append([]T{}, slice[T](v.bytes)...), append([]int{}, v.operand.Shape...), nil
}
