package loops

import (
	"unsafe"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// block is the memory of a tensor, as a slice of its element type.
type block[T simd.Float] struct {
	same []T // elements of the compute type
	f32  []float32
	f64  []float64
	i8   []int8
	u8   []uint8
	i32  []int32
	i64  []int64
	bits []bool
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
	case dtype.I8:
		b.i8 = as[int8](data)
	case dtype.U8:
		b.u8 = data
	case dtype.I32:
		b.i32 = as[int32](data)
	case dtype.I64:
		b.i64 = as[int64](data)
	case dtype.Bool:
		b.bits = as[bool](data)
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

// elements returns the address of elements [first, first+n) of a kind.
func (b *block[T]) elements(k jit.Kind, first, n int) unsafe.Pointer {
	switch k {
	case jit.Conditions:
		return unsafe.Pointer(unsafe.SliceData(b.bits[first : first+n]))
	case jit.Int32:
		return unsafe.Pointer(unsafe.SliceData(b.i32[first : first+n]))
	case jit.Int64:
		return unsafe.Pointer(unsafe.SliceData(b.i64[first : first+n]))
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

// realAt returns code that loads an element as float64.
func realAt[T simd.Float](t dtype.Type) func(*block[T], int) float64 {
	switch t {
	case dtype.F32:
		return func(b *block[T], i int) float64 { return float64(b.f32[i]) }
	case dtype.F64:
		return func(b *block[T], i int) float64 { return b.f64[i] }
	case dtype.I8:
		return func(b *block[T], i int) float64 { return float64(b.i8[i]) }
	case dtype.U8:
		return func(b *block[T], i int) float64 { return float64(b.u8[i]) }
	case dtype.I32:
		return func(b *block[T], i int) float64 { return float64(b.i32[i]) }
	case dtype.I64:
		return func(b *block[T], i int) float64 { return float64(b.i64[i]) }
	}
	return func(b *block[T], i int) float64 {
		if b.bits[i] {
			return 1
		}
		return 0
	}
}

// integerAt returns code that loads an element as int.
func integerAt[T simd.Float](t dtype.Type) func(*block[T], int) int {
	switch t {
	case dtype.I8:
		return func(b *block[T], i int) int { return int(b.i8[i]) }
	case dtype.U8:
		return func(b *block[T], i int) int { return int(b.u8[i]) }
	case dtype.I32:
		return func(b *block[T], i int) int { return int(b.i32[i]) }
	case dtype.I64:
		return func(b *block[T], i int) int { return int(b.i64[i]) }
	}
	get := realAt[T](t)
	return func(b *block[T], i int) int { return int(get(b, i)) }
}

// putReal returns code that stores a float64 as an element, or adds it to the element.
func putReal[T simd.Float](t dtype.Type, add bool) func(*block[T], int, float64) {
	switch {
	case t == dtype.F32 && add:
		return func(b *block[T], i int, v float64) { b.f32[i] = float32(float64(b.f32[i]) + v) }
	case t == dtype.F32:
		return func(b *block[T], i int, v float64) { b.f32[i] = float32(v) }
	case t == dtype.F64 && add:
		return func(b *block[T], i int, v float64) { b.f64[i] += v }
	case t == dtype.F64:
		return func(b *block[T], i int, v float64) { b.f64[i] = v }
	case t == dtype.Bool:
		return func(b *block[T], i int, v float64) { b.bits[i] = v != 0 }
	}
	put := putInteger[T](t, add)
	return func(b *block[T], i int, v float64) { put(b, i, int(v)) }
}

// putInteger returns code that stores an int as an element, or adds it to the element. Integers wrap around.
func putInteger[T simd.Float](t dtype.Type, add bool) func(*block[T], int, int) {
	switch {
	case t == dtype.I8 && add:
		return func(b *block[T], i int, v int) { b.i8[i] += int8(v) }
	case t == dtype.I8:
		return func(b *block[T], i int, v int) { b.i8[i] = int8(v) }
	case t == dtype.U8 && add:
		return func(b *block[T], i int, v int) { b.u8[i] += uint8(v) }
	case t == dtype.U8:
		return func(b *block[T], i int, v int) { b.u8[i] = uint8(v) }
	case t == dtype.I32 && add:
		return func(b *block[T], i int, v int) { b.i32[i] += int32(v) }
	case t == dtype.I32:
		return func(b *block[T], i int, v int) { b.i32[i] = int32(v) }
	case t == dtype.I64 && add:
		return func(b *block[T], i int, v int) { b.i64[i] += int64(v) }
	case t == dtype.I64:
		return func(b *block[T], i int, v int) { b.i64[i] = int64(v) }
	}
	put := putReal[T](t, add)
	return func(b *block[T], i int, v int) { put(b, i, float64(v)) }
}

// integer is a storage type of integers.
type integer interface {
	int8 | uint8 | int32 | int64
}
