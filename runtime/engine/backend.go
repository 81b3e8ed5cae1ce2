package engine

import (
	"context"
	"time"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Backend is the part of an engine that depends on the devices: memory, binding and running. An engine calls
// one method at a time. It passes handles (Memory, Launchable, Executable) only to the backend that made
// them.
//
// The memory of a device need not be addressable by the host. Write and Read move bytes between the two.
type Backend interface {
	// Target returns the target for which plans are lowered and kernels are registered.
	Target() target.Target
	// Devices returns the number of devices. Each has memory of its own.
	Devices() int
	// Workers returns the number of queues for which plans are scheduled.
	Workers() int

	// Alloc returns zeroed memory of a device, aligned to plan.Align. bytes is positive. The engine checks
	// its limits first.
	Alloc(device int, bytes int64) (Memory, error)
	// Free frees what Alloc returned.
	Free(m Memory) error
	// Write copies host memory to a region of the same size.
	Write(to Region, from []byte) error
	// Read copies a region to host memory of the same size.
	Read(to []byte, from Region) error

	// BindCall binds a task of an operator to its memory. It returns one Launchable for each step.
	BindCall(c *Call) ([]Launchable, error)
	// BindBuiltin binds a built-in operation.
	BindBuiltin(b *Builtin) (Launchable, error)
	// BindGroup binds a fused task to its parts. Part i runs over over[i] indices.
	BindGroup(form plan.Form, parts []Launchable, over []int) (Launchable, error)
	// Compile makes the queues of a plan ready to run.
	Compile(q *Queues) (Executable, error)

	// Close stops threads and frees what else the backend holds. The engine frees all memory first.
	Close() error
}

// A Librarian is a backend that provides tasks of a device with a library, such as handles or data that
// operators share. Tasks take it as their argument from "handle", with the number of the device.
type Librarian interface {
	Library(device int) any
}

// Memory is memory of a device, as Alloc of a backend returns it. It is comparable, and opaque to the engine.
type Memory any

// Region is a part of a device's memory. The zero Region has no bytes.
type Region struct {
	Memory    Memory
	Off, Size int64
}

// Tensor is a tensor of a plan with its memory. The zero Tensor stands for an unused gradient.
type Tensor struct {
	task.Operand
	Region
	Mode tensor.Mode // of a gradient
}

// Call is an invocation of a task, resolved.
type Call struct {
	Device    int
	Signature *task.Signature
	Variant   task.Variant
	Attrs     task.Attrs
	Resolved  *task.Resolution
	// Seed is the seed of the call's random numbers; 0 if the task takes none.
	Seed int
	// Passed holds the values of the arguments that the caller passes. The engine sets new values between
	// runs, which the next run must use. Kernels that are bound with Accessor read them in each run. A
	// backend with other kernels must be told of changes by Passed.Follow.
	Passed *task.Passed
	// Profiling says how the engine measures the plan, and Handle is the device.
	Profiling task.Profiling
	Handle    task.Handle
	// Wholes maps a slot to the partitions of the whole tensors of which the call's tensors are parts; nil if
	// the call's tensors are whole.
	Wholes [][]partition.Partition
	// States holds the per-device state of the call's node, by slot; nil if it has none.
	States task.States
	memory *stateMemory      // of the node's state, for init and cleanup tasks; nil for others
	limits *partition.Limits // what constraints demand from tiles; nil if there are none
	// Asked says which gradients the call computes.
	Asked task.Asked
	// Rows says that tasks of the plan run tiles of rows of the results. Bodies then implement op.Rows.
	Rows bool
	// Params lists the tensors of each parameter of the signature. Scratch memory that each worker has its
	// own copy of is listed once for each worker.
	Params [][]Tensor
}

// Accessor returns the accessor that binds kernels which run on the host. host returns the bytes of a region
// as the kernel sees them.
func (c *Call) Accessor(host func(Region) []byte) *task.Accessor {
	buffers := func(slot int, grad bool) (out []task.Buffer) {
		for i, p := range c.Signature.Params {
			if p.Slot != slot || p.Grad != grad {
				continue
			}
			for _, t := range c.Params[i] {
				b := task.Buffer{Operand: t.Operand, Mode: t.Mode}
				if t.Size > 0 {
					b.Bytes = host(t.Region)
				}
				out = append(out, b)
			}
		}
		return out
	}
	a := &task.Accessor{
		Rows: c.Rows, Grid: c.Asked, Signature: c.Signature, Attrs: c.Attrs, Resolved: c.Resolved, Seed: c.Seed, Passed: c.Passed, Memory: buffers,
		Workers:   func(slot int) []task.Buffer { return buffers(slot, false) },
		State:     c.States.Slot,
		Profiling: c.Profiling, Handle: c.Handle,
	}
	if c.memory != nil {
		a.Heap = c.memory.onHost(host)
	}
	if c.Wholes != nil {
		a.Partitions = func(slot int) []partition.Partition { return c.Wholes[slot] }
	}
	return a
}

// Builtin is a built-in operation over [0, Over). The engine checks that the operation accesses whole
// tensors, and writes the first. The backend checks that the operation exists for their types. Tensors of
// copy and all_reduce may lie on any device, and those of other operations lie on the device that runs the
// operation.
type Builtin struct {
	*plan.Builtin
	Device  int
	Over    int
	Tensors []Tensor
}

// Launchable is a bound task. Backends have types of their own for it.
type Launchable interface {
	// Launch runs the task once, as range [0, 1), and waits for it. The engine runs init and cleanup tasks in
	// this way.
	Launch() error
}

// Queues is a plan with its tasks bound.
type Queues struct {
	Plan  *plan.Plan   // scheduled for as many workers as the backend has
	Tasks []Launchable // one for each task of the plan
	// Observe, unless nil, must be called after each range that has run. Workers may call it at the same
	// time.
	Observe func(Event)
}

// Executable is a plan that a backend has made ready. If it has a method Close() error, the engine calls it
// before it frees the memory of the plan.
type Executable interface {
	// Run runs all queues once and waits for them. Kernels see step as op.Ctx.Step. The error is a
	// *RangeError or the cause of the context. An error leaves no trace in the next run.
	Run(ctx context.Context, step uint64) error
}

// Direct is an Executable that may run on the goroutine of the caller, since it calls no functions of others:
// no kernel of another module, no observer. An engine runs all others on a goroutine of its own, which takes
// some tenths of a microsecond.
type Direct interface {
	Executable
	// Direct reports whether that is so.
	Direct() bool
}

// Event is the run of a range of a task.
type Event struct {
	Task   int
	Worker int
	Step   uint64
	Range  op.Range
	// Phase is the phase of a range that workers share phase by phase, and -1 if the first range computes all
	// of them.
	Phase int
	Begin time.Time
	End   time.Time
}
