// Package engine loads plans and runs them.
//
// An Engine checks plans, counts memory, keeps variables, and feeds and fetches tensors. A Backend does what
// depends on the devices: it allocates memory, binds kernels and runs queues. Package cpu has the backend for
// the CPUs of this machine. Package enginetest tests backends.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/opgen/opgen/runtime/internal/goroutine"
	"github.com/opgen/opgen/runtime/internal/numbering"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
)

// Config configures an engine.
type Config struct {
	// MemoryLimit bounds the bytes of tensors on all devices: arenas of plans, variables and scratch memory
	// of workers. 0 means no bound.
	MemoryLimit int64
	// Admit, unless nil, is called before each allocation of memory for a named owner. Its error refuses the
	// allocation.
	Admit func(owner string, bytes int64) error
	// Profile measures the time of every task.
	Profile bool
	// Indices tests, before each run, the tensors that the caller feeds and that specs bound by the key
	// below. Without it, what a kernel does with an index out of bounds is up to the kernel.
	Indices bool
	// Observer, unless nil, receives the events of all runs.
	Observer Observer
	// KeepBackend leaves the backend open when the engine is closed, for another engine. Opening a GPU takes
	// a tenth of a second.
	KeepBackend bool
}

// Observer receives the events of runs. Loading a plan calls Observe, where p is Instance.Plan of the loaded
// plan. The function that it returns is called after each range that has run, by several workers at the same
// time.
//
// An observer that leaves out runs has a method Profiling() task.Profiling, which says so. Tasks get that as
// their argument from "profiling".
type Observer interface {
	Observe(p *plan.Plan, workers int) func(Event)
}

// profiling says how the engine measures plans.
func (c *Config) profiling() task.Profiling {
	if o, ok := c.Observer.(interface{ Profiling() task.Profiling }); ok && !c.Profile {
		return o.Profiling()
	}
	return task.Profiling{On: c.Profile || c.Observer != nil}
}

// Engine runs plans on a backend. Its plans share variables by name. It is safe for concurrent use; one plan
// runs at a time.
type Engine struct {
	registry *task.Registry
	backend  Backend
	target   target.Target
	config   Config
	alloc    *allocator
	// runner runs what calls kernels and callbacks, so that one which ends its goroutine does not end the
	// caller's.
	runner *goroutine.Runner

	mu        sync.Mutex
	variables map[string]*variable
	instances []*Instance       // that are not closed, in the order of loading
	states    map[string]*state // of nodes of loaded plans, by stateKey
	made      int               // how many states were made so far
	closed    bool
	dropped   runtime.Cleanup
}

type variable struct {
	operand task.Operand
	device  int
	memory  Region
	set     bool // has been written
}

// New returns an engine that runs the tasks of a registry on a backend. Close frees its memory and closes the
// backend. If neither the engine nor an instance can be reached any more, the garbage collector closes the
// backend. A nil registry has no tasks. New panics if the backend is nil.
func New(registry *task.Registry, backend Backend, config Config) *Engine {
	if backend == nil {
		panic("engine: New: want a backend, got nil")
	}
	if registry == nil {
		registry = &task.Registry{}
	}
	e := &Engine{
		runner:    &goroutine.Runner{},
		registry:  registry,
		backend:   backend,
		target:    backend.Target(),
		config:    config,
		alloc:     &allocator{backend: backend, admit: config.Admit, limit: config.MemoryLimit, blocks: map[Memory]block{}},
		variables: map[string]*variable{},
		states:    map[string]*state{},
	}
	e.dropped = runtime.AddCleanup(e, func(o owned) {
		o.runner.Stop()
		_ = o.backend.Close() // nothing is left that could be told
	}, owned{e.runner, backend})
	return e
}

// owned is what outlives an engine that is dropped without Close.
type owned struct {
	runner  *goroutine.Runner
	backend Backend
}

// Close closes all instances, the latest first, frees the variables and closes the backend. Using the engine
// or its instances afterwards is an error. Close goes on after an error. It returns all errors, and one that
// lists the memory that is left in use.
func (e *Engine) Close() error {
	if err := e.lock(); err != nil {
		return err
	}
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	e.dropped.Stop()
	defer e.runner.Stop()
	var errs []error
	for n := len(e.instances); n > 0; n = len(e.instances) {
		errs = append(errs, e.call(e.instances[n-1].free))
		e.instances = slices.Delete(e.instances, min(n-1, len(e.instances)), len(e.instances)) // also if a cleanup task did not return
	}
	for _, v := range e.variables {
		errs = append(errs, e.alloc.free(v.memory))
	}
	e.variables = nil
	errs = append(errs, e.alloc.leak())
	if !e.config.KeepBackend {
		errs = append(errs, e.call(e.backend.Close))
	}
	return errors.Join(errs...)
}

// Options returns the options with which planner.Build makes plans for the engine.
func (e *Engine) Options() []planner.Option {
	return []planner.Option{planner.For(e.target), planner.Workers(e.Workers())}
}

// Workers returns the number of workers.
func (e *Engine) Workers() int { return e.backend.Workers() }

// Memory returns the engine's use of memory.
func (e *Engine) Memory() Usage { return e.alloc.usage() }

// Instance is a plan loaded into an engine: its memory is allocated and its tasks are bound.
type Instance struct {
	engine  *Engine
	plan    *plan.Plan // as scheduled for the engine's workers
	arenas  []Region   // per device
	scratch [][]Region // per device and worker
	data    []Region   // per root; nil once closed
	vars    []*variable
	names   *numbering.Numbering[string] // of roots
	roots   []region.Root                // per name
	states  map[string]*state            // per node that has one
	order   []*state                     // in the order in which they were made
	calls   []*Call                      // per call of the plan; nil where no task runs it
	loading *loading                     // while the plan is loaded; nil afterwards
	program Executable
	ctx     context.Context   // of the run in progress
	turn    *guarded          // runs the program
	direct  bool              // whether it runs on the goroutine of the caller
	times   []Timing          // per task; nil unless the engine profiles, as is took
	took    [][]time.Duration // per worker and task, in the last run
	needs   []int             // roots of variables that are read before they are written
	writes  []*variable
	inputs  []region.Root // that must be fed before every run
	fed     []bool        // per root: since the last run
	outside []bool        // per root: in memory of the caller; nil if none is
	counted map[region.Root]counted
	indices []indices
	steps   uint64
	stale   error // why what the plan computes cannot be fetched; nil after a run
}

// Run runs the plan once. Inputs must be fed before each run, since tasks may reuse their memory. The error
// is a *TaskError or wraps the cause of the context. After an error, the tensors that the plan writes are
// undefined, and the engine remains usable.
//
// The context is looked at before each range of a task, and every few strips in loops of formulas. A kernel
// by hand that takes long asks op.Ctx.Stopped; one that does not return keeps Run from returning. A kernel
// that calls its engine gets an error, but one that waits for another goroutine that does so waits for ever.
func (in *Instance) Run(ctx context.Context) error {
	if err := in.lock(); err != nil {
		return err
	}
	e := in.engine
	defer e.mu.Unlock()
	if ctx == nil {
		return errors.New("engine: want a context, got nil")
	}
	if e.closed || in.data == nil {
		return fmt.Errorf("engine: the engine or the instance is closed")
	}
	for _, r := range in.needs {
		if !in.vars[r].set {
			return fmt.Errorf("engine: plan %s reads variable %s, which nothing has written yet", in.plan.Name, in.plan.Roots[r].Name)
		}
	}
	for _, r := range in.inputs {
		if !in.fed[r] && (in.outside == nil || !in.outside[r]) {
			return fmt.Errorf("engine: plan %s reads input %s, which has not been fed since the last run", in.plan.Name, in.plan.Roots[r].Name)
		}
	}
	if err := in.checkIndices(); err != nil {
		return err
	}
	clear(in.fed)
	for _, took := range in.took {
		clear(took)
	}
	in.stale = errFailed
	if err := in.runProgram(ctx); err != nil {
		return err
	}
	in.addTimes()
	for _, v := range in.writes {
		v.set = true
	}
	in.steps++
	if err := in.checkCounts(); err != nil {
		return err
	}
	in.stale = nil
	return nil
}

// runProgram runs the queues once.
func (in *Instance) runProgram(ctx context.Context) error {
	in.ctx = ctx
	var err error
	if in.direct {
		in.turn.call()
		err = in.turn.err
	} else {
		err = in.engine.run(in.turn)
	}
	in.ctx = nil
	if x, ok := in.program.(interface{ Exited() error }); ok && err == goroutine.ErrExited {
		err = x.Exited()
	}
	if err == nil {
		return nil
	}
	return in.failure(err)
}

// SetStep sets the number of steps before the next run, which kernels see as op.Ctx.Step. Each run adds one.
// Plans that take turns, such as those for batches of several sizes, count together in this way.
func (in *Instance) SetStep(steps uint64) {
	mustLock(in.lock())
	defer in.engine.mu.Unlock()
	in.steps = steps
}

// Close unloads the plan: it runs cleanup tasks, the latest first, and frees the plan's memory, also after an
// error. Variables stay with the engine.
func (in *Instance) Close() error {
	if err := in.lock(); err != nil {
		return err
	}
	defer in.engine.mu.Unlock()
	return in.engine.call(in.free)
}

// free is Close for a caller that holds the engine's lock.
func (in *Instance) free() error {
	if in.data == nil {
		return nil
	}
	errs := []error{in.closeProgram(), in.dropStates()}
	for _, r := range slices.Concat(append(in.scratch, in.arenas)...) {
		errs = append(errs, in.engine.alloc.free(r))
	}
	in.arenas, in.scratch, in.data, in.calls = nil, nil, nil, nil
	in.engine.instances = slices.DeleteFunc(in.engine.instances, func(o *Instance) bool { return o == in })
	return errors.Join(errs...)
}

// closeProgram frees what the backend made of the plan.
func (in *Instance) closeProgram() error {
	c, ok := in.program.(io.Closer)
	in.program = nil
	if !ok {
		return nil
	}
	return c.Close()
}

// Plan returns the plan, scheduled for the engine's workers.
func (in *Instance) Plan() *plan.Plan { return in.plan }

// Uses reports whether the plan has a tensor of this name.
func (in *Instance) Uses(name string) bool {
	_, ok := in.names.Find(name)
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

// addTimes adds the times of the last run.
func (in *Instance) addTimes() {
	for i := range in.times {
		var d time.Duration
		for _, took := range in.took {
			d += took[i]
		}
		in.times[i].add(d)
	}
}

// observe returns the function that is called after each range that has run, or nil.
func (in *Instance) observe() func(Event) {
	var observe func(Event)
	if o := in.engine.config.Observer; o != nil {
		observe = o.Observe(in.plan, in.engine.Workers())
	}
	if !in.engine.config.Profile {
		return observe
	}
	in.times, in.took = make([]Timing, len(in.plan.Tasks)), make([][]time.Duration, in.engine.Workers())
	for i := range in.times {
		in.times[i].Label = in.plan.Label(i)
	}
	for w := range in.took {
		in.took[w] = make([]time.Duration, len(in.times))
	}
	return func(e Event) {
		in.took[e.Worker][e.Task] += e.End.Sub(e.Begin)
		if observe != nil {
			observe(e)
		}
	}
}

// Timings returns the time of every task, in the plan's order; nil unless the engine profiles.
func (in *Instance) Timings() []Timing {
	mustLock(in.lock())
	defer in.engine.mu.Unlock()
	return append([]Timing(nil), in.times...)
}
