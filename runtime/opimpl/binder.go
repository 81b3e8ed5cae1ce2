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
func AttrsOf[A task.Attrs, S ~int](a *Binder[S]) A {
	v, ok := a.acc.Attrs.(A)
	if !ok {
		a.wrong("attributes", v, a.acc.Attrs)
	}
	return v
}

// DimsOf returns the dimensions of the task's node. They share no memory with those of other nodes.
func DimsOf[D any, S ~int](a *Binder[S]) (d D) {
	p, ok := a.acc.Resolved.Dims.(*D)
	if !ok {
		a.wrong("dimensions", p, a.acc.Resolved.Dims)
		return d
	}
	d = *p
	own(reflect.ValueOf(&d).Elem())
	return d
}

// wrong keeps an error about attributes or dimensions of another type, unless there is an error already.
func (a *Binder[S]) wrong(what string, want, got any) {
	if a.err == nil {
		sig := a.acc.Signature
		a.err = &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task, Want: fmt.Sprintf("%s of type %T", what, want),
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

// elements returns the memory of b as a slice of T, after checking type and size.
func elements[T dtype.Element, S ~int](a *Binder[S], slot S, i int, b task.Buffer) []T {
	if want := dtype.Of[T](); b.Type != want {
		a.fail(slot, i, "element type "+want.String(), b.Type.String())
		return nil
	}
	n := shape.Prod(b.Shape)
	if int64(len(b.Bytes)) != b.Operand.Bytes() {
		a.fail(slot, i, fmt.Sprintf("%d bytes", b.Operand.Bytes()), fmt.Sprint(len(b.Bytes)))
		return nil
	}
	if n == 0 {
		return []T{}
	}
	p := unsafe.Pointer(unsafe.SliceData(b.Bytes))
	if uintptr(p)%uintptr(b.Type.Size()) != 0 {
		a.fail(slot, i, fmt.Sprintf("memory aligned to %d bytes", b.Type.Size()), fmt.Sprintf("address %#x", uintptr(p)))
		return nil
	}
	return unsafe.Slice((*T)(p), n)
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
func ReadOnly[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.RO[T] {
	b, ok := a.one(slot, reading, at(i))
	if !ok {
		return tensor.RO[T]{}
	}
	return tensor.MakeRO(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
}

// WriteOnly returns a slot's tensor for writing. The task must have permission write, readwrite or scratch.
func WriteOnly[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.WO[T] {
	b, ok := a.one(slot, writing, at(i))
	if !ok {
		return tensor.WO[T]{}
	}
	return tensor.MakeWO(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
}

// ReadWrite returns a slot's tensor for reading and writing. The task must have permission readwrite or
// scratch.
func ReadWrite[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.RW[T] {
	b, ok := a.one(slot, changing, at(i))
	if !ok {
		return tensor.RW[T]{}
	}
	return tensor.MakeRW(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
}

// GradOf returns the gradient of a slot's tensor for reading. The task must take the gradient with permission
// read.
func GradOf[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.RO[T] {
	b, ok := a.one(slot, readingGrad, at(i))
	if !ok {
		return tensor.RO[T]{}
	}
	return tensor.MakeRO(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
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

// GradTo returns the gradient that the task computes for a slot's tensor. The task must take the gradient
// with permission write, and not add to it element by element.
func GradTo[T dtype.Number, S ~int](a *Binder[S], slot S, i ...int) tensor.Grad[T] {
	b, used := a.contribution(slot, writingGrad, at(i))
	switch n := shape.Prod(b.Shape); {
	case used:
		return tensor.MakeGrad(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape, n, b.Mode)
	case b.Type == dtype.Invalid:
		return tensor.Grad[T]{} // the slot itself is absent
	default:
		return tensor.MakeGrad(unlock.Seal[T](nil), b.Shape, n, tensor.Discard)
	}
}

// ScatterTo returns the gradient that the task adds to, element by element, for a slot's tensor.
func ScatterTo[T dtype.Number, S ~int](a *Binder[S], slot S, i ...int) tensor.Scatter[T] {
	b, used := a.contribution(slot, addingToGrad, at(i))
	switch n := shape.Prod(b.Shape); {
	case used:
		return tensor.MakeScatter(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape, n)
	case b.Type == dtype.Invalid:
		return tensor.Scatter[T]{}
	default:
		return tensor.MakeScatter(unlock.Seal[T](nil), b.Shape, n)
	}
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

// ListIf is List if the task is given the slot's tensors, and otherwise returns none.
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

// ReduceTo returns the tensor of a slot into which the task folds values. The task must have permission
// reduce.
func ReduceTo[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.Reduction[T] {
	b, ok := a.one(slot, folding, at(i))
	if !ok {
		return tensor.Reduction[T]{}
	}
	redop := a.param(slot, false).Redop
	v, ok := tensor.MakeReduction(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape, redop)
	if !ok {
		a.fail(slot, at(i), "elements that "+redop.String()+" folds", b.Type.String())
	}
	return v
}

// ReduceBy returns what returns the tensor of a slot into which the task folds values with a function of the
// module's own. The identity that the spec gives must be one, which the function shows by folding two of
// them.
func ReduceBy[T dtype.Element, S ~int](fold func(x, y T) T) func(a *Binder[S], slot S, i ...int) tensor.Reduction[T] {
	return func(a *Binder[S], slot S, i ...int) tensor.Reduction[T] {
		b, ok := a.one(slot, folding, at(i))
		if !ok {
			return tensor.Reduction[T]{}
		}
		redop := a.param(slot, false).Redop
		pkg, name, identity, own := redop.Own()
		if !own {
			a.fail(slot, at(i), "a reduction with a function of the module's own", redop.String())
			return tensor.Reduction[T]{}
		}
		x := number[T](identity)
		if y := fold(x, x); y != x {
			a.fail(slot, at(i), fmt.Sprintf("an identity of %s.%s: that of two of them is the same", pkg, name), fmt.Sprintf("%v, which gives %v", x, y))
		}
		return tensor.MakeOwnReduction(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape, fold)
	}
}

// number returns a number as an element, in the way in which engines fill tensors with it.
func number[T dtype.Element](v float64) T {
	var x T
	dtype.Of[T]().PutFloat64(unsafe.Slice((*byte)(unsafe.Pointer(&x)), unsafe.Sizeof(x)), v)
	return x
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

// Local returns a slot's scratch memory, of which every worker has its own.
func Local[T dtype.Element, S ~int](a *Binder[S], slot S) tensor.PerWorker[T] {
	if a.permitted(slot, local) == nil {
		return tensor.PerWorker[T]{}
	}
	var own []tensor.RW[T]
	for i, b := range a.acc.Workers(int(slot)) {
		own = append(own, tensor.MakeRW(unlock.Seal(elements[T](a, slot, i, b)), b.Shape))
	}
	return tensor.MakePerWorker(own)
}
