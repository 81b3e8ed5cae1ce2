package task

import (
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/tensor"
)

// Buffer is the memory of a tensor: contiguous, row-major, aligned to its element type.
type Buffer struct {
	Operand
	Bytes []byte
	Mode  tensor.Mode // for gradients
}

// Accessor gives a task's binding function its slots. An engine makes one when it loads a plan; it
// is not used while tasks run.
type Accessor struct {
	Signature *Signature
	Attrs     Attrs
	Resolved  *Resolution
	// Memory returns the tensors of a slot, or of its gradient: none if it is absent. The zero Buffer
	// stands for an unused gradient of one of a variadic slot's tensors.
	Memory func(slot int, grad bool) []Buffer
	// Workers returns the scratch memory of a slot, one buffer for each worker.
	Workers func(slot int) []Buffer
	// State returns the per-device state of a slot; it may be nil if the operator has none.
	State func(slot int) *State
	// Passed holds the values of the arguments that the caller passes, by slot.
	Passed map[int][]any
	// Partition returns the partition of the tensor of a slot; nil if no tensor is partitioned.
	Partition func(slot int) partition.Partition
	// Seed, Profiling and Handle are the arguments of these sources.
	Seed      int
	Profiling Profiling
	Handle    Handle
}

// Value returns what an argument of a single value is, given its slot; nil if the engine does not have it.
func (a *Accessor) Value(slot int, arg *Arg) any {
	switch arg.From {
	case FromExpression:
		return a.Resolved.Args[slot]
	case FromAttrs:
		return a.Attrs
	case FromShape:
		return a.partition(arg.Of)
	case FromSeed:
		return a.Seed
	case FromProfiling:
		return a.Profiling
	case FromHandle:
		return a.Handle
	case FromCall:
		if values := a.Passed[slot]; len(values) == 1 {
			return values[0]
		}
	}
	return nil
}

// partition returns the partition of a slot's tensor: one part, unless the engine sets another.
func (a *Accessor) partition(slot int) partition.Partition {
	if a.Partition != nil {
		return a.Partition(slot)
	}
	if o := a.Resolved.Operands(slot); len(o) > 0 {
		return partition.Undivided(o[0].Shape)
	}
	return partition.Partition{}
}
