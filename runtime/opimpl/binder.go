package opimpl

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
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

// fail keeps an error about tensor number i of a slot, unless there is one already.
func (a *Binder[S]) fail(slot S, i int, want, got string) {
	if a.err == nil {
		sig := a.acc.Signature
		a.err = &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task, Slot: tensorName(&sig.Operator.Slots[slot], i), Want: want, Got: got}
	}
}

// AttrsOf returns the attributes of the task's node.
func AttrsOf[A task.Attrs, S ~int](a *Binder[S]) A { return a.acc.Attrs.(A) }

// DimsOf returns the dimensions of the task's node. They share no memory with those of other nodes.
func DimsOf[D any, S ~int](a *Binder[S]) D {
	d := *a.acc.Resolved.Dims.(*D)
	own(reflect.ValueOf(&d).Elem())
	return d
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
func (a *Binder[S]) one(slot S, grad bool, i int) (task.Buffer, bool) {
	if a.err != nil {
		return task.Buffer{}, false
	}
	m := a.acc.Memory(int(slot), grad)
	want := 1
	if a.acc.Signature.Operator.Slots[slot].Variadic {
		want = len(a.acc.Resolved.Operands(int(slot)))
	}
	switch {
	case len(m) == want:
		return m[i], true
	case a.acc.Signature.Operator.Slots[slot].Variadic:
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

// ReadOnly returns a slot's tensor for reading.
func ReadOnly[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.RO[T] {
	b, ok := a.one(slot, false, at(i))
	if !ok {
		return tensor.RO[T]{}
	}
	return tensor.MakeRO(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
}

// WriteOnly returns a slot's tensor for writing.
func WriteOnly[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.WO[T] {
	b, ok := a.one(slot, false, at(i))
	if !ok {
		return tensor.WO[T]{}
	}
	return tensor.MakeWO(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
}

// ReadWrite returns a slot's tensor for reading and writing.
func ReadWrite[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.RW[T] {
	b, ok := a.one(slot, false, at(i))
	if !ok {
		return tensor.RW[T]{}
	}
	return tensor.MakeRW(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
}

// GradOf returns the gradient of a slot's tensor for reading.
func GradOf[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.RO[T] {
	b, ok := a.one(slot, true, at(i))
	if !ok {
		return tensor.RO[T]{}
	}
	return tensor.MakeRO(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape)
}

// contribution returns the memory of a gradient that the task computes, or only its type and shape if it is
// unused; of an absent slot, neither.
func (a *Binder[S]) contribution(slot S, i int) (b task.Buffer, used bool) {
	if a.err != nil {
		return task.Buffer{}, false
	}
	if m := a.acc.Memory(int(slot), true); i < len(m) && m[i].Type != dtype.Invalid {
		return m[i], true
	}
	if o := a.acc.Resolved.Operands(int(slot)); i < len(o) {
		b.Operand = task.Operand{Type: o[i].Type, Shape: slices.Clone(o[i].Shape)}
	}
	return b, false
}

// GradTo returns the gradient that the task computes for a slot's tensor.
func GradTo[T dtype.Number, S ~int](a *Binder[S], slot S, i ...int) tensor.Grad[T] {
	b, used := a.contribution(slot, at(i))
	switch n := shape.Prod(b.Shape); {
	case used:
		return tensor.MakeGrad(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape, n, b.Mode)
	case b.Type == dtype.Invalid:
		return tensor.Grad[T]{} // the slot itself is absent
	default:
		return tensor.MakeGrad(unlock.Seal[T](nil), b.Shape, n, tensor.Discard)
	}
}

// ScatterTo returns the gradient that the task adds to for a slot's tensor.
func ScatterTo[T dtype.Number, S ~int](a *Binder[S], slot S, i ...int) tensor.Scatter[T] {
	b, used := a.contribution(slot, at(i))
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
	return a.err != nil || len(a.acc.Memory(int(slot), grad)) == 0
}

// ReduceTo returns the tensor of a slot into which the task folds values.
func ReduceTo[T dtype.Element, S ~int](a *Binder[S], slot S, i ...int) tensor.Reduction[T] {
	b, ok := a.one(slot, false, at(i))
	if !ok {
		return tensor.Reduction[T]{}
	}
	op := a.redop(slot)
	v, ok := tensor.MakeReduction(unlock.Seal(elements[T](a, slot, at(i), b)), b.Shape, op)
	if !ok {
		a.fail(slot, at(i), "elements that "+op.String()+" folds", b.Type.String())
	}
	return v
}

// redop returns the reduction operator of a slot.
func (a *Binder[S]) redop(slot S) perm.Redop {
	for _, p := range a.acc.Signature.Params {
		if p.Slot == int(slot) && !p.Grad {
			return p.Redop
		}
	}
	return perm.NoRedop
}

// ReduceBy returns what returns the tensor of a slot into which the task folds values with a function of the module's own. The identity
// that the spec gives must be one, which the function shows by folding two of them.
func ReduceBy[T dtype.Element, S ~int](fold func(x, y T) T) func(a *Binder[S], slot S, i ...int) tensor.Reduction[T] {
	return func(a *Binder[S], slot S, i ...int) tensor.Reduction[T] {
		b, ok := a.one(slot, false, at(i))
		if !ok {
			return tensor.Reduction[T]{}
		}
		pkg, name, identity, _ := a.redop(slot).Own()
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
	if a.err != nil {
		return tensor.PerWorker[T]{}
	}
	var own []tensor.RW[T]
	for i, b := range a.acc.Workers(int(slot)) {
		own = append(own, tensor.MakeRW(unlock.Seal(elements[T](a, slot, i, b)), b.Shape))
	}
	return tensor.MakePerWorker(own)
}
