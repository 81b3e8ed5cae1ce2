package local

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
)

// slice returns the memory of a tensor as elements. Engines align memory to more than any element.
func slice[T dtype.Element](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/dtype.Of[T]().Size())
}

// operands says how many tensors each built-in operation takes.
var operands = map[string]int{"fill": 1, "add": 2, "convert": 2}

// builtin returns the body of a built-in operation.
func (in *Instance) builtin(t *plan.Task) (op.Body, error) {
	if t.Builtin.Op == "identity" {
		return in.identity(t)
	}
	typ := func(i int) dtype.Type { return in.plan.Roots[t.Access[i].Root].Type }
	wrong := func(i int) (op.Body, error) {
		return nil, fmt.Errorf("want %s of f32, f64, f16 or bf16, got %v", t.Builtin.Op, typ(i))
	}
	if n, ok := operands[t.Builtin.Op]; !ok {
		return nil, fmt.Errorf("unknown built-in operation %q", t.Builtin.Op)
	} else if len(t.Access) != n {
		return nil, fmt.Errorf("want %s with %d tensors, got %d", t.Builtin.Op, n, len(t.Access))
	}
	n := shape.Prod(in.plan.Roots[t.Access[0].Root].Shape)
	for i := range t.Access {
		a := &t.Access[i]
		if !in.permits(a, a.Root, i == 0) || shape.Prod(in.plan.Roots[a.Root].Shape) != n || t.Over != n {
			return nil, fmt.Errorf("want tensors of one size, all of them touched and the first written, got %v %v over %d", a.Perm, a.Region, t.Over)
		}
	}
	if bits, value, ok := typ(0).Half(); ok {
		to := half{slice[uint16](in.data[t.Access[0].Root]), bits, value}
		if t.Builtin.Op == "fill" {
			return fillHalf{to, bits(float32(t.Builtin.Value))}, nil
		}
		from := in.data[t.Access[1].Root]
		switch {
		case typ(1) == dtype.F32 && t.Builtin.Op == "convert":
			return toHalf{to, slice[float32](from)}, nil
		case typ(1) == dtype.F32 && t.Builtin.Op == "add":
			return addToHalf{to, slice[float32](from)}, nil
		case typ(1) == typ(0) && t.Builtin.Op == "add":
			return addHalf{to, slice[uint16](from)}, nil
		}
		return wrong(1)
	}
	if t.Builtin.Op == "convert" {
		_, value, ok := typ(1).Half()
		if !ok || typ(0) != dtype.F32 {
			return wrong(1)
		}
		return fromHalf{slice[float32](in.data[t.Access[0].Root]), slice[uint16](in.data[t.Access[1].Root]), value}, nil
	}
	switch typ(0) {
	case dtype.F32:
		return builtin[float32](in, t)
	case dtype.F64:
		return builtin[float64](in, t)
	}
	return wrong(0)
}

func builtin[T dtype.Float](in *Instance, t *plan.Task) (op.Body, error) {
	to := slice[T](in.data[t.Access[0].Root])
	if t.Builtin.Op == "fill" {
		return fill[T]{to, T(t.Builtin.Value)}, nil
	}
	if from := in.plan.Roots[t.Access[1].Root].Type; from != dtype.Of[T]() {
		return nil, fmt.Errorf("want add of two tensors of %v, got %v", dtype.Of[T](), from)
	}
	return add[T]{to, slice[T](in.data[t.Access[1].Root])}, nil
}

type fill[T dtype.Number] struct {
	to    []T
	value T
}

func (f fill[T]) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		f.to[i] = f.value
	}
	return nil
}

type add[T dtype.Float] struct{ to, from []T }

func (a add[T]) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.to[i] += a.from[i]
	}
	return nil
}
