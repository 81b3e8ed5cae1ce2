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
	// Observer, unless nil, may wrap the body of every task that is loaded, to see it run.
	Observer Observer
}

// Observer sees tasks run: Observe returns what runs in place of a body, which is a plan's task of the
// given number. It is called while the plan is loaded, task by task from 0.
type Observer interface {
	Observe(p *plan.Plan, number, workers int, body task.Body) task.Body
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
	instances map[*Instance]bool // that are open
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
		instances: map[*Instance]bool{},
	}
}

// Close stops the workers and frees the memory, that of instances included. Using them afterwards is
// an error.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	e.pool.close()
	for in := range e.instances {
		in.free()
	}
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
	inputs  []region.Root // that must be fed before every run
	fed     []bool        // per root: since the last run
	steps   uint64
}

type bound struct {
	body  task.Body
	over  int
	grain int
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
	in.free()
}

// free is Close for callers that hold the engine's lock.
func (in *Instance) free() {
	if in.data != nil {
		in.engine.alloc.Free(in.arena)
		for _, s := range in.scratch {
			in.engine.alloc.Free(s)
		}
		in.arena, in.scratch, in.data, in.tasks = nil, nil, nil, nil
		delete(in.engine.instances, in)
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
