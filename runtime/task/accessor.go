package task

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
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
	// stands for the gradient of one of a variadic slot's tensors that is unused.
	Memory func(slot int, grad bool) []Buffer
	// Workers returns the scratch memory of a slot, one buffer for each worker.
	Workers func(slot int) []Buffer
	// State returns the per-device state of a slot; it may be nil if the operator has none.
	State func(slot int) *State
	// Passed holds the values of the arguments that the caller passes, by slot.
	Passed map[int][]any
	// Partition returns the partition of the tensor of a slot; nil if no tensor is divided.
	Partition func(slot int) partition.Partition
	// Profiling and Handle are the arguments of these sources.
	Profiling Profiling
	Handle    Handle

	at  int // of a variadic slot: the tensor that List is at
	err error
}

// Err returns the first thing that did not fit, or nil.
func (a *Accessor) Err() error { return a.err }

func (a *Accessor) fail(slot int, want, got string) {
	if a.err == nil {
		a.err = &op.Error{Operator: a.Signature.Operator.Name, Task: a.Signature.Task,
			Slot: a.Signature.Operator.Slots[slot].tensor(a.at), Want: want, Got: got}
	}
}

// elements returns the memory of b as a slice of T, after checking type and size.
func elements[T dtype.Element](a *Accessor, slot int, b Buffer) []T {
	if want := dtype.Of[T](); b.Type != want {
		a.fail(slot, "element type "+want.String(), b.Type.String())
		return nil
	}
	n := shape.Prod(b.Shape)
	if int64(len(b.Bytes)) != b.Operand.Bytes() {
		a.fail(slot, fmt.Sprintf("%d bytes", b.Operand.Bytes()), fmt.Sprint(len(b.Bytes)))
		return nil
	}
	if n == 0 {
		return []T{}
	}
	p := unsafe.Pointer(unsafe.SliceData(b.Bytes))
	if uintptr(p)%uintptr(b.Type.Size()) != 0 {
		a.fail(slot, fmt.Sprintf("memory aligned to %d bytes", b.Type.Size()), fmt.Sprintf("address %#x", uintptr(p)))
		return nil
	}
	return unsafe.Slice((*T)(p), n)
}

func (a *Accessor) one(slot int, grad bool) (Buffer, bool) {
	if a.err != nil {
		return Buffer{}, false
	}
	m := a.Memory(slot, grad)
	if a.Signature.Operator.Slots[slot].Variadic {
		if want := len(a.Resolved.Operands(slot)); len(m) != want {
			a.fail(slot, fmt.Sprintf("%d tensors", want), fmt.Sprint(len(m)))
			return Buffer{}, false
		}
		return m[a.at], true
	}
	if len(m) != 1 {
		a.fail(slot, "one tensor", fmt.Sprint(len(m)))
		return Buffer{}, false
	}
	return m[0], true
}

// The functions below are called by generated binding functions.

// ReadOnly returns a slot's tensor for reading.
func ReadOnly[T dtype.Element, S ~int](a *Accessor, slot S) tensor.RO[T] {
	b, ok := a.one(int(slot), false)
	if !ok {
		return tensor.RO[T]{}
	}
	return tensor.MakeRO(unlock.Key{}, elements[T](a, int(slot), b), b.Shape)
}

// WriteOnly returns a slot's tensor for writing.
func WriteOnly[T dtype.Element, S ~int](a *Accessor, slot S) tensor.WO[T] {
	b, ok := a.one(int(slot), false)
	if !ok {
		return tensor.WO[T]{}
	}
	return tensor.MakeWO(unlock.Key{}, elements[T](a, int(slot), b), b.Shape)
}

// ReadWrite returns a slot's tensor for reading and writing.
func ReadWrite[T dtype.Element, S ~int](a *Accessor, slot S) tensor.RW[T] {
	b, ok := a.one(int(slot), false)
	if !ok {
		return tensor.RW[T]{}
	}
	return tensor.MakeRW(unlock.Key{}, elements[T](a, int(slot), b), b.Shape)
}

// GradOf returns the gradient of a slot's tensor for reading.
func GradOf[T dtype.Element, S ~int](a *Accessor, slot S) tensor.RO[T] {
	b, ok := a.one(int(slot), true)
	if !ok {
		return tensor.RO[T]{}
	}
	return tensor.MakeRO(unlock.Key{}, elements[T](a, int(slot), b), b.Shape)
}

// contribution returns the memory of a gradient that the task computes, or only its type and shape if
// it is unused; of an absent slot, neither.
func (a *Accessor) contribution(slot int) (b Buffer, wanted bool) {
	if a.err != nil {
		return Buffer{}, false
	}
	if m := a.Memory(slot, true); a.at < len(m) && m[a.at].Type != dtype.Invalid {
		return m[a.at], true
	}
	if o := a.Resolved.Operands(slot); a.at < len(o) {
		b.Operand = o[a.at]
	}
	return b, false
}

// GradTo returns the gradient that the task computes for a slot's tensor.
func GradTo[T dtype.Number, S ~int](a *Accessor, slot S) tensor.Grad[T] {
	b, wanted := a.contribution(int(slot))
	switch n := shape.Prod(b.Shape); {
	case wanted:
		return tensor.MakeGrad(unlock.Key{}, elements[T](a, int(slot), b), b.Shape, n, b.Mode)
	case b.Type == dtype.Invalid:
		return tensor.Grad[T]{} // the slot itself is absent
	default:
		return tensor.MakeGrad[T](unlock.Key{}, nil, b.Shape, n, tensor.Discard)
	}
}

// ScatterTo returns the gradient that the task adds to for a slot's tensor.
func ScatterTo[T dtype.Number, S ~int](a *Accessor, slot S) tensor.Scatter[T] {
	b, wanted := a.contribution(int(slot))
	switch n := shape.Prod(b.Shape); {
	case wanted:
		return tensor.MakeScatter(unlock.Key{}, elements[T](a, int(slot), b), b.Shape, n)
	case b.Type == dtype.Invalid:
		return tensor.Scatter[T]{}
	default:
		return tensor.MakeScatter[T](unlock.Key{}, nil, b.Shape, n)
	}
}

// List returns the tensors of a variadic slot, each read with get.
func List[V any, S ~int](a *Accessor, slot S, get func(*Accessor, S) V) []V {
	list := make([]V, len(a.Resolved.Operands(int(slot))))
	for i := range list {
		a.at = i
		list[i] = get(a, slot)
	}
	a.at = 0
	return list
}

// ListIf is List if the task is given the slot's tensors, and otherwise returns none.
func ListIf[V any, S ~int](a *Accessor, slot S, get func(*Accessor, S) V) []V {
	if a.err != nil || len(a.Memory(int(slot), false)) == 0 {
		return nil
	}
	return List(a, slot, get)
}

// ReduceTo returns the tensor of a slot into which the task folds values.
func ReduceTo[T dtype.Number, S ~int](a *Accessor, slot S) tensor.Reduction[T] {
	b, ok := a.one(int(slot), false)
	if !ok {
		return tensor.Reduction[T]{}
	}
	op := perm.NoRedop
	for _, p := range a.Signature.Params {
		if p.Slot == int(slot) && !p.Grad {
			op = p.Redop
		}
	}
	return tensor.MakeReduction(unlock.Key{}, elements[T](a, int(slot), b), b.Shape, op)
}

// Optional returns a slot's tensor, read with get, if the slot has one.
func Optional[V any, S ~int](a *Accessor, slot S, get func(*Accessor, S) V) tensor.Opt[V] {
	if a.err != nil || len(a.Memory(int(slot), false)) == 0 {
		return tensor.Opt[V]{}
	}
	return tensor.Some(get(a, slot))
}

// OptionalGrad returns the gradient of a slot's tensor for reading, if there is one.
func OptionalGrad[T dtype.Element, S ~int](a *Accessor, slot S) tensor.Opt[tensor.RO[T]] {
	if a.err != nil || len(a.Memory(int(slot), true)) == 0 {
		return tensor.Opt[tensor.RO[T]]{}
	}
	return tensor.Some(GradOf[T](a, slot))
}

// Local returns a slot's scratch memory, of which every worker has its own.
func Local[T dtype.Element, S ~int](a *Accessor, slot S) tensor.PerWorker[T] {
	if a.err != nil {
		return tensor.PerWorker[T]{}
	}
	var own []tensor.RW[T]
	for _, b := range a.Workers(int(slot)) {
		own = append(own, tensor.MakeRW(unlock.Key{}, elements[T](a, int(slot), b), b.Shape))
	}
	return tensor.MakePerWorker(unlock.Key{}, own)
}
