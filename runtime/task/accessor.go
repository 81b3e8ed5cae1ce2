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
	// Memory returns the tensors of a slot, or their gradients. It returns nil if the slot is absent. The
	// zero Buffer stands for an unused gradient of a tensor of a variadic slot.
	Memory func(slot int, grad bool) []Buffer
	// Workers returns the scratch memory of a slot, one buffer for each worker.
	Workers func(slot int) []Buffer
	// State returns the per-device state of a slot; it may be nil if the operator has none.
	State func(slot int) *State
	// Passed holds the values of the arguments that the caller passes; nil if it passes none.
	Passed *Passed
	// Partitions returns the partitions of the tensors of a slot; nil if no tensor is partitioned.
	Partitions func(slot int) []partition.Partition
	// Seed, Profiling and Handle are the arguments of these sources.
	Seed      int
	Profiling Profiling
	Handle    Handle
	// Rows says that ranges of the body are tiles of rows of the results, as Resolution.Tiles says.
	Rows bool
	// Grid says which gradients a call computes whose grid has these tiles. Gradients are bound in another
	// mode to check them, and the tiles stay.
	Grid Asked
	// Heap is the argument from "memory" of init and cleanup tasks; nil for other tasks.
	Heap *Memory
}

// Value returns the value of an argument that has a single one, given its slot. It returns nil if the engine
// does not have it.
func (a *Accessor) Value(slot int, arg *Arg) any {
	switch arg.From {
	case FromExpression:
		return a.Resolved.Args[slot]
	case FromAttrs:
		return a.Attrs
	case FromShape:
		return a.partitions(arg.Of)
	case FromSeed:
		return a.Seed
	case FromProfiling:
		return a.Profiling
	case FromHandle:
		return a.Handle
	case FromMemory:
		if a.Heap != nil {
			return a.Heap
		}
	}
	return nil
}

// partitions returns the partition of a slot's tensor or, if the slot is variadic or optional, a list of
// those of its tensors. A tensor is one part, unless the engine sets another partition.
func (a *Accessor) partitions(slot int) any {
	list := []partition.Partition{}
	if a.Partitions != nil {
		list = append(list, a.Partitions(slot)...)
	} else {
		for _, o := range a.Resolved.Operands(slot) {
			list = append(list, partition.Undivided(o.Shape))
		}
	}
	s := &a.Signature.Operator.Slots[slot]
	switch {
	case s.Variadic || s.Optional:
		return list
	case len(list) == 1:
		return list[0]
	}
	return nil
}
