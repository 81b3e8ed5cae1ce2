package cpu

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
)

// slice returns the memory of a tensor as elements. Engines align memory to more than any element.
func slice[T dtype.Element](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/dtype.Of[T]().Size())
}

// BindBuiltin returns the body of a built-in operation.
func (b *Backend) BindBuiltin(t *engine.Builtin) (engine.Launchable, error) {
	body, err := builtin(t)
	return launchable{body}, err
}

func builtin(t *engine.Builtin) (op.Body, error) {
	if t.Op == "identity" {
		return identity(t)
	}
	typ := func(i int) dtype.Type { return t.Tensors[i].Type }
	wrong := func(i int) (op.Body, error) {
		return nil, fmt.Errorf("want %s of f32, f64, f16 or bf16, got %v", t.Op, typ(i))
	}
	to := host(t.Tensors[0].Region)
	if bits, value, ok := typ(0).Half(); ok {
		to := half{slice[uint16](to), bits, value}
		if t.Op == "fill" {
			return fillHalf{to, bits(float32(t.Value))}, nil
		}
		from := host(t.Tensors[1].Region)
		switch {
		case typ(1) == dtype.F32 && t.Op == "convert":
			return toHalf{to, slice[float32](from)}, nil
		case typ(1) == dtype.F32 && t.Op == "add":
			return addToHalf{to, slice[float32](from)}, nil
		case typ(1) == typ(0) && t.Op == "add":
			return addHalf{to, slice[uint16](from)}, nil
		}
		return wrong(1)
	}
	if t.Op == "convert" {
		_, value, ok := typ(1).Half()
		if !ok || typ(0) != dtype.F32 {
			return wrong(1)
		}
		return fromHalf{slice[float32](to), slice[uint16](host(t.Tensors[1].Region)), value}, nil
	}
	switch typ(0) {
	case dtype.F32:
		return fillOrAdd[float32](t)
	case dtype.F64:
		return fillOrAdd[float64](t)
	}
	return wrong(0)
}

func fillOrAdd[T dtype.Float](t *engine.Builtin) (op.Body, error) {
	to := slice[T](host(t.Tensors[0].Region))
	if t.Op == "fill" {
		return fill[T]{to, T(t.Value)}, nil
	}
	if from := t.Tensors[1].Type; from != dtype.Of[T]() {
		return nil, fmt.Errorf("want add of two tensors of %v, got %v", dtype.Of[T](), from)
	}
	return add[T]{to, slice[T](host(t.Tensors[1].Region))}, nil
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
