// Package cpu runs plans on the CPUs of this machine, in pure Go. It is a backend of package engine.
//
// Workers run the queues of the plan. Tasks that do not depend on each other run at the same time, and
// several workers share the ranges of a long task. Ranges depend on shapes alone, and sums have a fixed
// order, so results do not depend on the number of workers.
package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/opgen/opgen/internal/base/pages"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/internal/goroutine"
	"github.com/opgen/opgen/runtime/internal/sysmem"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/runtime/target"
)

// Config configures a backend.
type Config struct {
	// Workers is the number of workers; 0 means one for each CPU that Go may use.
	Workers int
	// Devices is the number of devices; 0 means one. Each has memory of its own on this machine. All workers
	// run the tasks of all devices.
	Devices int
	// Library, unless nil, returns what tasks of a device get as the library of their argument from "handle".
	// It is called once for each device.
	Library func(device int) any
	// Ranks, unless nil, carries the messages of plans to other ranks.
	Ranks *ranks.Link
}

// Backend runs kernels that are written in Go.
type Backend struct {
	pool      *exec.Pool
	libraries []any        // of each device
	used      atomic.Int64 // bytes of memory
	ranks     *ranks.Link  // nil unless plans have messages
}

// New returns a backend. Its workers run until it is closed.
func New(c Config) *Backend {
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	b := &Backend{pool: exec.NewPool(c.Workers), libraries: make([]any, max(c.Devices, 1)), ranks: c.Ranks}
	for d := range b.libraries {
		if c.Library != nil {
			b.libraries[d] = c.Library(d)
		}
	}
	return b
}

// Target returns target.CPU.
func (b *Backend) Target() target.Target { return target.CPU }

// Devices returns the number of devices.
func (b *Backend) Devices() int { return len(b.libraries) }

var _ engine.Librarian = (*Backend)(nil)

// Library returns the library of a device, or nil.
func (b *Backend) Library(device int) any { return b.libraries[device] }

// Workers returns the number of workers.
func (b *Backend) Workers() int { return b.pool.Workers() }

// Inside reports whether a goroutine is one of the backend's.
func (b *Backend) Inside(goroutine uint64) bool { return b.pool.Helps(goroutine) }

// memory is memory of the Go heap. Handles are pointers to it, since slices cannot be compared.
type memory struct{ bytes []byte }

// Alloc returns memory of the Go heap, on Linux in big pages from 4 MiB on. A program that runs out of memory
// ends, so a request is refused if this process cannot have as much: beyond the memory limit of the Go
// runtime (GOMEMLIMIT), and on Linux beyond the machine's memory and swap space, the limit of the control
// group, or the address space (ulimit -v). What else takes memory is not known.
func (b *Backend) Alloc(_ int, n int64) (engine.Memory, error) {
	limit := sysmem.Limit()
	if used := b.used.Add(n + plan.Align); used < n || used > limit {
		b.used.Add(-n - plan.Align)
		return nil, fmt.Errorf("out of memory: want %d bytes of at most %d that this process can have; %d are in use", n, limit, b.used.Load())
	}
	return &memory{pages.Bytes(n, plan.Align)}, nil
}

// Free drops the reference to memory, which the garbage collector then frees.
func (b *Backend) Free(m engine.Memory) error {
	b.used.Add(-int64(len(m.(*memory).bytes)) - plan.Align)
	m.(*memory).bytes = nil
	return nil
}

var _ engine.Adopter = (*Backend)(nil)

// Adopt returns memory of the caller, in which kernels work as in memory of the backend.
func (b *Backend) Adopt(_ int, data []byte) (engine.Memory, error) { return &memory{data}, nil }

// host returns the bytes of a region.
func host(r engine.Region) []byte {
	if r.Size == 0 {
		return nil
	}
	return r.Memory.(*memory).bytes[r.Off : r.Off+r.Size : r.Off+r.Size]
}

// Write copies to a region.
func (b *Backend) Write(to engine.Region, from []byte) error {
	copy(host(to), from)
	return nil
}

// Read copies from a region.
func (b *Backend) Read(to []byte, from engine.Region) error {
	copy(to, host(from))
	return nil
}

// launchable is a body.
type launchable struct {
	op.Body
	contained bool // whether it calls nothing but opgen
}

// Launch runs the body on the calling goroutine.
func (l launchable) Launch() error { return l.Run(&op.Ctx{}, op.Range{Lo: 0, Hi: 1}) }

// BindCall returns the bodies that generated code binds.
func (b *Backend) BindCall(c *engine.Call) ([]engine.Launchable, error) {
	bodies, err := c.Variant.Bind(c.Accessor(host))
	steps := make([]engine.Launchable, len(bodies))
	for i := range bodies {
		if b, ok := bodies[i].(op.Rows); c.Rows && !(ok && b.Rows()) {
			return nil, fmt.Errorf("want a kernel that computes tiles of rows, since they are tasks of the plan, got one that has ranges of its own")
		}
		steps[i] = launchable{bodies[i], c.Variant.Contained || op.IsContained(bodies[i])}
	}
	return steps, err
}

// executable is a program of the pool.
type executable struct {
	pool    *exec.Pool
	program *exec.Program
	direct  bool
	receive []*message // from other ranks, in the order of the plan
}

var _ engine.Direct = (*executable)(nil)

// Compile makes a program of the pool.
func (b *Backend) Compile(q *engine.Queues) (engine.Executable, error) {
	tasks := make([]exec.Task, len(q.Tasks))
	var grid *op.Grid // of the last task
	x := &executable{pool: b.pool, direct: q.Observe == nil}
	for i, l := range q.Tasks {
		t := &q.Plan.Tasks[i]
		body := l.(launchable).Body
		x.direct = x.direct && l.(launchable).contained
		if m, ok := body.(*message); ok && !m.send {
			x.receive = append(x.receive, m)
		}
		if q.Observe != nil {
			body = observe(i, body, q.Observe)
		}
		if g := t.Grid(); grid == nil || !grid.Equal(&g) {
			grid = &g
		}
		tasks[i] = exec.Task{Body: body, Grid: grid, Tile: int32(t.Tile)}
	}
	var err error
	x.program, err = exec.NewProgram(&q.Plan.Schedule, tasks)
	if err == nil && b.ranks != nil {
		// Other workers may be waiting for messages, whose ranks wait for what this one no longer does.
		x.program.Failed = func(e *exec.Error) {
			_ = b.ranks.Fail(fmt.Errorf("plan %s, %s: %w", q.Plan.Name, q.Plan.Label(e.Task), e.Err))
		}
	}
	return x, err
}

// Direct reports whether no task calls anything but opgen.
func (x *executable) Direct() bool { return x.direct }

// Run runs the program once. Messages may come from its beginning on.
func (x *executable) Run(ctx context.Context, step uint64) error {
	for _, m := range x.receive {
		m.Expect()
	}
	return located(x.pool.Run(ctx, x.program, step))
}

// Exited returns the error of a run that did not return, since a kernel has ended the goroutine that called
// it.
func (x *executable) Exited() error { return located(x.pool.Exited()) }

// located returns the error of a run as engines expect it.
func located(err error) error {
	if err == nil {
		return nil
	}
	var te *exec.Error
	if !errors.As(err, &te) {
		return err
	}
	e := &engine.RangeError{Task: te.Task, Range: te.Range, Err: te.Err}
	if pe, ok := te.Err.(*partError); ok {
		e.Part, e.Range, e.Err = pe.part, pe.at, pe.err
	} else if te.Err == goroutine.ErrExited {
		e.Part = -1
	}
	return e
}

// Close stops the workers.
func (b *Backend) Close() error {
	b.pool.Close()
	return nil
}
