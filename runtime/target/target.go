// Package target describes kinds of devices to the planner: how programs are lowered for them. For engines
// and their backends.
package target

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Target says how programs are lowered for a kind of device.
type Target struct {
	// Name is the name for which kernels of the device are registered.
	Name op.Target
	// Compute returns the element type in which kernels compute with elements of a stored type. Where the two
	// differ, plans convert. nil means that kernels compute in the stored types.
	Compute func(stored dtype.Type) dtype.Type
	// Fuse is set if neighboring tasks that work element by element are fused.
	Fuse bool
	// The estimated time of a task is TaskTime, and ByteTime for each byte that it accesses, in nanoseconds.
	TaskTime, ByteTime float64
	// Latency is the time in nanoseconds until one worker sees what another has written.
	Latency float64
}

// CPU is the target of kernels that are written in Go. They compute with the types that Go has: Go has no
// floating-point types of 16 bits. A byte is estimated to take a nanosecond. That is long for tasks that
// only move memory and short for matrix products, but both are then divided where it pays.
var CPU = Target{Name: op.CPU, Compute: dtype.Type.Host, Fuse: true, TaskTime: 50, ByteTime: 1, Latency: 120}

// Type returns the element type in which kernels compute with elements that are stored as another.
func (t *Target) Type(stored dtype.Type) dtype.Type {
	if t.Compute == nil {
		return stored
	}
	return t.Compute(stored)
}

// Types is Type for several.
func (t *Target) Types(stored []dtype.Type) []dtype.Type {
	out := make([]dtype.Type, len(stored))
	for i, s := range stored {
		out[i] = t.Type(s)
	}
	return out
}

// Operand returns a stored tensor as kernels see it.
func (t *Target) Operand(stored task.Operand) task.Operand {
	return task.Operand{Type: t.Type(stored.Type), Shape: stored.Shape}
}
