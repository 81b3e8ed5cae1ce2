package local

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
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
	switch t.Builtin.Op {
	case "fill":
		return fill[T]{to, T(t.Builtin.Value)}, nil
	case "add":
		return add[T]{to, slice[T](in.data[t.Access[1].Root])}, nil
	}
	return nil, fmt.Errorf("unknown built-in operation %q", t.Builtin.Op)
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
