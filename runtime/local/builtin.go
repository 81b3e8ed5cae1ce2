package local

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// slice returns the memory of a tensor as elements. Engines align memory to more than any element.
func slice[T dtype.Element](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/dtype.Of[T]().Size())
}

// builtin returns the body of a built-in operation.
func (in *Instance) builtin(t *plan.Task) (task.Body, error) {
	to := t.Access[0].Root
	n := map[string]int{"fill": 1, "add": 2}[t.Builtin.Op]
	if n == 0 {
		return nil, fmt.Errorf("unknown built-in operation %q", t.Builtin.Op)
	}
	if len(t.Access) != n {
		return nil, fmt.Errorf("want %d tensors, got %d", n, len(t.Access))
	}
	for i := range t.Access {
		a := &t.Access[i]
		if !in.permits(a, a.Root, i == 0) || in.plan.Roots[a.Root].Operand().String() != in.plan.Roots[to].Operand().String() || t.Over != shape.Prod(in.plan.Roots[to].Shape) {
			return nil, fmt.Errorf("want tensors of one type and shape, all of them touched and the first written, got %v, %v over %d", a.Perm, a.Region, t.Over)
		}
	}
	switch in.plan.Roots[to].Type {
	case dtype.F32:
		return builtin[float32](in, t)
	case dtype.F64:
		return builtin[float64](in, t)
	}
	return nil, fmt.Errorf("want %s of f32 or f64, got %v", t.Builtin.Op, in.plan.Roots[to].Type)
}

func builtin[T dtype.Float](in *Instance, t *plan.Task) (task.Body, error) {
	to := slice[T](in.data[t.Access[0].Root])
	if t.Builtin.Op == "fill" {
		return fill[T]{to, T(t.Builtin.Value)}, nil
	}
	return add[T]{to, slice[T](in.data[t.Access[1].Root])}, nil
}

type fill[T dtype.Float] struct {
	to    []T
	value T
}

func (f fill[T]) Run(_ *task.Ctx, r task.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		f.to[i] = f.value
	}
	return nil
}

type add[T dtype.Float] struct{ to, from []T }

func (a add[T]) Run(_ *task.Ctx, r task.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.to[i] += a.from[i]
	}
	return nil
}
