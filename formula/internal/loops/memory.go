package loops

import (
	"unsafe"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// block is the memory of a tensor. One slice holds the elements: f32, f64, bits for booleans, or data for
// integers. Elements of the compute type are in same, too.
type block[T simd.Float] struct {
	same []T // elements of the compute type
	f32  []float32
	f64  []float64
	bits []bool
	data []byte // integers, whose type wholesIn and wholeAt are told
}

// blockOf reinterprets bytes as elements of a type.
func blockOf[T simd.Float](t dtype.Type, data []byte) block[T] {
	var b block[T]
	switch t {
	case dtype.F32:
		b.f32 = as[float32](data)
		b.same, _ = any(b.f32).([]T)
	case dtype.F64:
		b.f64 = as[float64](data)
		b.same, _ = any(b.f64).([]T)
	case dtype.Bool:
		b.bits = as[bool](data)
	default:
		b.data = data
	}
	return b
}

// sameBlock returns a block of elements of the compute type.
func sameBlock[T simd.Float](x []T) block[T] {
	b := block[T]{same: x}
	switch x := any(x).(type) {
	case []float32:
		b.f32 = x
	case []float64:
		b.f64 = x
	}
	return b
}

// elements returns the address of elements [first, first+n), which are stored as kind k.
func (b *block[T]) elements(k jit.Kind, first, n int) unsafe.Pointer {
	switch k {
	case jit.Conditions:
		return unsafe.Pointer(unsafe.SliceData(b.bits[first : first+n]))
	case jit.Int32:
		return unsafe.Pointer(unsafe.SliceData(wholesIn[int32](b)[first : first+n]))
	case jit.Int64:
		return unsafe.Pointer(unsafe.SliceData(wholesIn[int64](b)[first : first+n]))
	case jit.Single:
		return unsafe.Pointer(unsafe.SliceData(b.f32[first : first+n]))
	}
	return unsafe.Pointer(unsafe.SliceData(b.same[first : first+n]))
}

// as reinterprets bytes as a slice of U without a copy.
func as[T any](data []byte) []T {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(*new(T))))
}

// allocated returns zeroed memory for n elements of a type.
func allocated[T simd.Float](t dtype.Type, n int) block[T] {
	words := make([]uint64, (n*t.Size()+7)/8) // aligned for all types
	if n == 0 {
		return block[T]{}
	}
	return blockOf[T](t, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n*t.Size()))
}
