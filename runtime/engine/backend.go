package engine

import (
	"context"
	"time"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Backend is what engines of different devices do differently: memory, binding and running. An engine
// calls its methods one at a time. Only the engine passes handles (Memory, Launchable, Executable) back
// to the backend that made them.
//
// The memory of a device need not be addressable by the host: only Write and Read move bytes between the
// two.
type Backend interface {
	// Target says how plans for the backend are lowered, and whose kernels it runs.
	Target() target.Target
	// Devices returns the number of devices, each of which has memory of its own.
	Devices() int
	// Workers returns the number of queues for which plans are scheduled.
	Workers() int

	// Alloc returns zeroed memory of a device, aligned to plan.Align; bytes is positive. The engine has
	// checked its limits before.
	Alloc(device int, bytes int64) (Memory, error)
	// Free frees what Alloc returned.
	Free(m Memory) error
	// Write copies host memory to a region of as many bytes.
	Write(to Region, from []byte) error
	// Read copies a region to host memory of as many bytes.
	Read(to []byte, from Region) error

	// BindCall binds a task of an operator to its memory. It returns one Launchable for each step.
	BindCall(c *Call) ([]Launchable, error)
	// BindBuiltin binds a built-in operation.
	BindBuiltin(b *Builtin) (Launchable, error)
	// BindGroup binds a fused task to its parts. Part i runs over as many indices as over[i] says.
	BindGroup(form plan.Form, parts []Launchable, over []int) (Launchable, error)
	// Compile makes the queues of a plan ready to run.
	Compile(q *Queues) (Executable, error)

	// Close frees what the backend itself holds, such as threads. The engine has freed all memory.
	Close() error
}

// Memory is memory of a device, as Alloc of a backend returned it. It is comparable. Only the backend
// looks into it.
type Memory any

// Region is a part of a device's memory. The zero Region has no bytes.
type Region struct {
	Memory    Memory
	Off, Size int64
}

// Tensor is a tensor of a plan and its memory. The zero Tensor stands for an unused gradient.
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
	// Passed holds the values of the arguments that the caller passes, by slot.
	Passed map[int][]any
	// State is the per-device state of the call's node, nil if it has none.
	State *task.State
	// Params lists the tensors of each parameter of the signature. Of scratch memory that every worker has
	// for itself, there are as many for each tensor as there are workers.
	Params [][]Tensor
}

// Accessor returns the accessor with which kernels of the host are bound. host returns the bytes of a
// region as the kernel is to see them.
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
	return &task.Accessor{
		Signature: c.Signature, Attrs: c.Attrs, Resolved: c.Resolved, Passed: c.Passed, Memory: buffers,
		Workers: func(slot int) []task.Buffer { return buffers(slot, false) },
		State:   func(int) *task.State { return c.State },
	}
}

// Builtin is a built-in operation over [0, Over). The engine has checked that the tensors are touched as
// a whole, and that the first is written; whether the operation exists for their types is left to the
// backend. The tensors lie on the device that runs the operation, but for those of copy and all_reduce, which may
// lie on any.
type Builtin struct {
	*plan.Builtin
	Device  int
	Over    int
	Tensors []Tensor
}

// Launchable is a bound task. What else it is only its backend knows.
type Launchable interface {
	// Launch runs the task once, as range [0, 1), and waits for it. Init and cleanup tasks run in this way.
	Launch() error
}

// Queues is a plan with its tasks bound.
type Queues struct {
	Plan  *plan.Plan   // scheduled for as many workers as the backend has
	Tasks []Launchable // one for each task of the plan
	// Observe, unless nil, is to be called after each range that has run. Workers call it side by side.
	Observe func(Event)
}

// Executable is a plan that a backend has made ready.
type Executable interface {
	// Run walks all queues once and waits for them. step is what kernels see as op.Ctx.Step. The error is a
	// *RangeError or the cause of the context; the next run is as if it had not been.
	Run(ctx context.Context, step uint64) error
}

// Event is the run of a range of a task.
type Event struct {
	Task   int
	Worker int
	Step   uint64
	Range  op.Range
	Begin  time.Time
	End    time.Time
}
