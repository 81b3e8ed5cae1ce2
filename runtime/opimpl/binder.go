package opimpl

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Binder gives a task its tensors and arguments. It keeps its first error; later calls return zero values. S
// is the operator's slot type.
type Binder[S ~int] struct {
	acc *task.Accessor
	err error
}

// NewBinder returns a binder of the task that an engine has an accessor for.
func NewBinder[S ~int](acc *task.Accessor) *Binder[S] { return &Binder[S]{acc: acc} }

// Err returns the first error, or nil.
func (a *Binder[S]) Err() error { return a.err }

// fail keeps an error about tensor number i of a slot, unless there is one already. A slot that the operator
// does not have is named by its number.
func (a *Binder[S]) fail(slot S, i int, want, got string) {
	if a.err != nil {
		return
	}
	name := fmt.Sprint(int(slot))
	if s := a.slot(slot); s != nil {
		name = tensorName(s, i)
	}
	a.err = &op.Error{Operator: a.acc.Signature.Operator.FullName(), Task: a.acc.Signature.Task, Slot: name, Want: want, Got: got}
}

// slot returns the description of a slot; nil if the operator does not have the slot.
func (a *Binder[S]) slot(slot S) *task.Slot {
	slots := a.acc.Signature.Operator.Slots
	if slot < 0 || int(slot) >= len(slots) {
		return nil
	}
	return &slots[slot]
}

// AttrsOf returns the attributes of the task's node.
func AttrsOf[A task.Attrs, S ~int](a *Binder[S]) (v A) {
	a.setAttrs(reflect.ValueOf(&v).Elem())
	return v
}

// setAttrs sets v to the attributes of the task's node.
func (a *Binder[S]) setAttrs(v reflect.Value) {
	got := reflect.ValueOf(a.acc.Attrs)
	if !got.IsValid() || got.Type() != v.Type() {
		a.wrong("attributes", v.Type(), a.acc.Attrs)
		return
	}
	v.Set(got)
}

// DimsOf returns the dimensions of the task's node. They share no memory with those of other nodes.
func DimsOf[D any, S ~int](a *Binder[S]) (d D) {
	a.setDims(reflect.ValueOf(&d).Elem())
	return d
}

// setDims sets v to the dimensions of the task's node, in memory of their own.
func (a *Binder[S]) setDims(v reflect.Value) {
	got := reflect.ValueOf(a.acc.Resolved.Dims)
	if want := reflect.PointerTo(v.Type()); !got.IsValid() || got.Type() != want {
		a.wrong("dimensions", want, a.acc.Resolved.Dims)
		return
	}
	v.Set(got.Elem())
	own(v)
}

// wrong keeps an error about attributes or dimensions of another type, unless there is an error already.
func (a *Binder[S]) wrong(what string, want reflect.Type, got any) {
	if a.err == nil {
		sig := a.acc.Signature
		a.err = &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task, Want: fmt.Sprintf("%s of type %v", what, want),
			Got: fmt.Sprintf("%T", got)}
	}
}

// own gives a value slices of its own.
func own(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			own(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() || !v.CanSet() {
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		if v.Type().Elem().Kind() == reflect.Slice {
			for i := range v.Len() {
				own(v.Index(i))
			}
		}
	}
}

// memory returns the memory of b for a view with elements of a type, after checking type, size and alignment.
func (a *Binder[S]) memory(slot S, i int, b task.Buffer, want dtype.Type) (m tensor.Memory, ok bool) {
	address := uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes)))
	m = tensor.Memory{Shape: b.Shape, Size: shape.Prod(b.Shape), Lanes: max(len(b.Shape)-1, 0), Mode: b.Mode}
	switch {
	case b.Type != want:
		a.fail(slot, i, "element type "+want.String(), b.Type.String())
	case int64(len(b.Bytes)) != b.Operand.Bytes():
		a.fail(slot, i, fmt.Sprintf("%d bytes", b.Operand.Bytes()), fmt.Sprint(len(b.Bytes)))
	case m.Size == 0:
		m.Data = unlock.Seal([]byte{})
		return m, true
	case address%uintptr(b.Type.Size()) != 0:
		a.fail(slot, i, fmt.Sprintf("memory aligned to %d bytes", b.Type.Size()), fmt.Sprintf("address %#x", address))
	default:
		m.Data = unlock.Seal(b.Bytes)
		return m, true
	}
	return m, false
}

// one returns the memory of tensor number i of a slot, or of its gradient, which it must have.
func (a *Binder[S]) one(slot S, use use, i int) (task.Buffer, bool) {
	s := a.permitted(slot, use)
	if s == nil {
		return task.Buffer{}, false
	}
	m := a.acc.Memory(int(slot), use.grad)
	want := 1
	if s.Variadic {
		want = len(a.acc.Resolved.Operands(int(slot)))
	}
	switch {
	case i < 0 || i >= want:
		a.fail(slot, i, "tensor "+below(want), fmt.Sprint(i))
	case len(m) == want:
		return m[i], true
	case s.Variadic:
		a.fail(slot, i, fmt.Sprintf("%d tensors", want), fmt.Sprint(len(m)))
	default:
		a.fail(slot, i, "one tensor", fmt.Sprint(len(m)))
	}
	return task.Buffer{}, false
}

// at returns the number of the tensor that a function is asked for: the first, unless another is given.
func at(i []int) int {
	if len(i) == 0 {
		return 0
	}
	return i[0]
}

// ReadOnly returns a slot's tensor for reading. The task must have permission read or readwrite.
func ReadOnly[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) (v tensor.RO[T]) {
	a.view(slot, false, at(i), &v, options{})
	return v
}

// WriteOnly returns a slot's tensor for writing. The task must have permission write, readwrite or scratch.
func WriteOnly[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) (v tensor.WO[T]) {
	a.view(slot, false, at(i), &v, options{})
	return v
}

// ReadWrite returns a slot's tensor for reading and writing. The task must have permission readwrite or
// scratch.
func ReadWrite[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) (v tensor.RW[T]) {
	a.view(slot, false, at(i), &v, options{})
	return v
}

// GradOf returns the gradient of a slot's tensor for reading. The task must take the gradient with permission
// read.
func GradOf[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) (v tensor.RO[T]) {
	a.view(slot, true, at(i), &v, options{})
	return v
}

// GradTo returns the gradient that the task computes for a slot's tensor. The task must take the gradient
// with permission write, and not add to it element by element.
func GradTo[T dtype.Number, S ~int](a *Binder[S], slot S, i ...int) (v tensor.Grad[T]) {
	a.view(slot, true, at(i), &v, options{})
	return v
}

// ScatterTo returns the gradient that the task adds to, element by element, for a slot's tensor.
func ScatterTo[T dtype.Number, S ~int](a *Binder[S], slot S, i ...int) (v tensor.Scatter[T]) {
	a.view(slot, true, at(i), &v, options{})
	return v
}

// ReduceTo returns the tensor of a slot into which the task folds values. The task must have permission
// reduce.
func ReduceTo[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) (v tensor.Reduction[T]) {
	a.view(slot, false, at(i), &v, options{})
	return v
}

// ReduceBy returns what returns the tensor of a slot into which the task folds values with a function of the
// module's own. The identity that the spec gives must be one, which the function shows by folding two of
// them.
func ReduceBy[T dtype.Element, S ~int](fold func(x, y T) T) func(a *Binder[S], slot S, i ...int) tensor.Reduction[T] {
	return func(a *Binder[S], slot S, i ...int) (v tensor.Reduction[T]) {
		by := FoldBy(slot, fold)
		a.view(slot, false, at(i), &v, options{fold: &by})
		return v
	}
}

// Local returns a slot's scratch memory, of which each worker has its own copy.
func Local[T dtype.Element, S ~int](a *Binder[S], slot S) (v tensor.PerWorker[T]) {
	a.view(slot, false, 0, &v, options{})
	return v
}

// contribution returns the memory of a gradient that the task computes, or only its type and shape if it is
// unused; of an absent slot, neither.
func (a *Binder[S]) contribution(slot S, use use, i int) (b task.Buffer, used bool) {
	s := a.permitted(slot, use)
	if s == nil {
		return task.Buffer{}, false
	}
	o := a.acc.Resolved.Operands(int(slot))
	if want := max(1, len(o)); i < 0 || i >= want && len(a.acc.Memory(int(slot), true)) <= i {
		a.fail(slot, i, "tensor "+below(want), fmt.Sprint(i))
		return task.Buffer{}, false
	}
	if m := a.acc.Memory(int(slot), true); i < len(m) && m[i].Type != dtype.Invalid {
		return m[i], true
	}
	if i < len(o) {
		b.Operand = task.Operand{Type: o[i].Type, Shape: slices.Clone(o[i].Shape)}
	}
	return b, false
}

// List returns the tensors of a variadic slot, each read with get.
func List[V any, S ~int](a *Binder[S], slot S, get func(*Binder[S], S, ...int) V) []V {
	if a.slot(slot) == nil {
		get(a, slot) // which keeps the error
		return nil
	}
	list := make([]V, len(a.acc.Resolved.Operands(int(slot))))
	for i := range list {
		list[i] = get(a, slot, i)
	}
	return list
}

// ListIf is List if the task takes the slot's tensors. Otherwise it returns nil.
func ListIf[V any, S ~int](a *Binder[S], slot S, get func(*Binder[S], S, ...int) V) []V {
	if a.absent(slot, false) {
		return nil
	}
	return List(a, slot, get)
}

// absent reports whether the task is not given a slot's tensors, or their gradients.
func (a *Binder[S]) absent(slot S, grad bool) bool {
	if a.err != nil || a.slot(slot) != nil && a.param(slot, grad) != nil && len(a.acc.Memory(int(slot), grad)) == 0 {
		return true
	}
	return false // or the task does not take the slot, and reading it keeps the error
}

// Optional returns a slot's tensor, read with get, if the slot has one.
func Optional[V any, S ~int](a *Binder[S], slot S, get func(*Binder[S], S, ...int) V) tensor.Opt[V] {
	if a.absent(slot, false) {
		return tensor.Opt[V]{}
	}
	return tensor.Some(get(a, slot))
}

// OptionalGrad returns the gradient of a slot's tensor for reading, if there is one.
func OptionalGrad[T dtype.Element, S ~int](a *Binder[S], slot S) tensor.Opt[tensor.RO[T]] {
	if a.absent(slot, true) {
		return tensor.Opt[tensor.RO[T]]{}
	}
	return tensor.Some(GradOf[T](a, slot))
}
