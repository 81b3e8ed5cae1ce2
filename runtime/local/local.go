// Package local runs plans on the CPUs of this machine, in pure Go.
//
// Workers walk the queues of the plan: tasks that do not depend on each other run side by side, and the
// ranges of long ones are shared. As ranges are cut by shapes alone, and whatever depends on order is
// ordered, results do not depend on the number of workers.
package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
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
	// Admit, if it is set, is asked before each allocation of memory for a named owner, and may refuse it.
	Admit func(owner string, bytes int64) error
	// Profile measures the time of every task.
	Profile bool
	// Observer, unless nil, may wrap the body of every task that is loaded, to see it run.
	Observer Observer
}

// Observer sees tasks run: Observe returns what runs in place of a body, which is a plan's task of the
// given number; p is what Instance.Plan returns. It is called while the plan is loaded, task by task from 0.
type Observer interface {
	Observe(p *plan.Plan, number, workers int, body op.Body) op.Body
}

// Engine runs plans on this machine. Its variables are shared, by name, among its plans. One plan
// runs at a time; calls from several goroutines wait for each other.
type Engine struct {
	registry *task.Registry
	config   Config
	alloc    *Allocator

	mu        sync.Mutex
	pool      *exec.Pool
	variables map[string]*variable
	instances []*Instance // that are open, in the order of loading
	closed    bool
}

type variable struct {
	operand task.Operand
	bytes   []byte
	set     bool // has been written
}

// New returns an engine that runs the tasks of a registry. Close it to free its memory and stop its
// workers.
func New(registry *task.Registry, config Config) *Engine {
	if config.Workers <= 0 {
		config.Workers = runtime.GOMAXPROCS(0)
	}
	e := &Engine{
		registry:  registry,
		config:    config,
		alloc:     NewAllocator(config.MemoryLimit),
		pool:      exec.NewPool(config.Workers),
		variables: map[string]*variable{},
	}
	e.alloc.Admit = config.Admit
	return e
}

// Close unloads what is loaded, the latest first, frees the variables and stops the workers. Using the
// engine or its instances afterwards is an error. Close does all of it whatever fails, and returns the
// errors of cleanup tasks, and what memory is then still in use.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	for len(e.instances) > 0 {
		errs = append(errs, e.instances[len(e.instances)-1].free())
	}
	for _, v := range e.variables {
		errs = append(errs, e.alloc.Free(v.bytes))
	}
	e.variables = nil
	e.pool.Close()
	return errors.Join(append(errs, e.alloc.Leak())...)
}

// Workers returns the number of workers.
func (e *Engine) Workers() int { return e.config.Workers }

// Memory returns the engine's use of memory.
func (e *Engine) Memory() Memory { return e.alloc.Memory() }

// Instance is a plan loaded into an engine: its memory is allocated and its tasks are bound.
type Instance struct {
	engine  *Engine
	plan    *plan.Plan // as scheduled for the engine's workers
	arena   []byte
	scratch [][]byte // per worker
	data    [][]byte // per root
	vars    []*variable
	roots   map[string]region.Root
	states  map[string]*state // per node that has one
	order   []*state          // in the order in which they were made
	program *exec.Program
	times   []Timing
	took    []time.Duration // per task, in the last run; only if the engine profiles
	needs   []int           // roots of variables that are read before they are written
	writes  []*variable
	inputs  []region.Root // that must be fed before every run
	fed     []bool        // per root: since the last run
	steps   uint64
}

// TaskError reports which task of a plan failed. It wraps the kernel's error, or a *PanicError.
type TaskError struct {
	Plan     string
	Label    string // of the task, for people
	Node     string // "" for a built-in operation, like Operator and Task
	Operator string
	Task     string
	Slot     string // that the kernel's error names, or ""
	Range    op.Range
	Err      error
}

func (e *TaskError) Error() string {
	return fmt.Sprintf("plan %s, %s, range [%d, %d): %v", e.Plan, e.Label, e.Range.Lo, e.Range.Hi, e.Err)
}

// Unwrap returns the kernel's error.
func (e *TaskError) Unwrap() error { return e.Err }

// locate fills in what is known of the call in which the error arose.
func (e *TaskError) locate(c *plan.Call) {
	e.Node, e.Operator, e.Task = c.Node, c.Operator, c.Task
	var te *op.Error
	if errors.As(e.Err, &te) {
		e.Slot = te.Slot
	}
}

// PanicError is a panic of a kernel.
type PanicError = exec.Panic

// Run runs the plan once. Its inputs must have been fed since the run before, whose tasks may have
// used their memory for other tensors. After an error (a *TaskError, or the context's), what the plan
// wrote is undefined, but the engine remains usable.
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
	for _, r := range in.inputs {
		if !in.fed[r] {
			return fmt.Errorf("local: plan %s reads input %s, which has not been fed since the last run", in.plan.Name, in.plan.Roots[r].Name)
		}
	}
	clear(in.fed)
	var err error
	if in.times == nil {
		err = e.pool.Run(ctx, in.program, in.steps)
	} else {
		err = e.pool.RunTimed(ctx, in.program, in.steps)
	}
	if err != nil {
		return in.failure(err)
	}
	if in.times != nil {
		clear(in.took)
		in.program.Times(in.took)
		for i, d := range in.took {
			in.times[i].add(d)
		}
	}
	for _, v := range in.writes {
		v.set = true
	}
	in.steps++
	return nil
}

// failure says which task of the plan an error of the pool comes from.
func (in *Instance) failure(err error) error {
	var te *exec.Error
	if !errors.As(err, &te) {
		return fmt.Errorf("plan %s stopped: %w", in.plan.Name, err)
	}
	e := &TaskError{Plan: in.plan.Name, Label: in.plan.Label(te.Task), Range: te.Range, Err: te.Err}
	t := &in.plan.Tasks[te.Task]
	var pe *partError
	if errors.As(te.Err, &pe) { // of a group
		t, e.Label, e.Range, e.Err = pe.task, in.plan.LabelOf(pe.task), pe.at, pe.err
	}
	if t.Call >= 0 {
		e.locate(&in.plan.Calls[t.Call])
	}
	return e
}

// SetStep says how many steps were done before the next run, as tasks see it; each run adds one. Plans
// that take turns, such as those for batches of several sizes, count together in this way.
func (in *Instance) SetStep(steps uint64) {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	in.steps = steps
}

// Close unloads the plan: it runs cleanup tasks, the latest first, and frees the plan's memory, whatever
// fails. Variables stay with the engine.
func (in *Instance) Close() error {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	return in.free()
}

// free is Close for callers that hold the engine's lock.
func (in *Instance) free() error {
	if in.data == nil {
		return nil
	}
	errs := []error{in.dropStates(), in.engine.alloc.Free(in.arena)}
	for _, s := range in.scratch {
		errs = append(errs, in.engine.alloc.Free(s))
	}
	in.arena, in.scratch, in.data, in.program = nil, nil, nil, nil
	in.engine.instances = slices.DeleteFunc(in.engine.instances, func(o *Instance) bool { return o == in })
	return errors.Join(errs...)
}

// Plan returns the plan, scheduled for the engine's workers.
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
