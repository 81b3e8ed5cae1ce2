package loops

import (
	"unsafe"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// storage accesses elements of one storage type. Code looks it up when it is compiled, so that no strip
// chooses between types.
type storage[T simd.Float] interface {
	// load sets z to strided elements of b, converted to T.
	load(b *block[T], z []T, start, stride int)
	// move copies n elements, with a stride in each block.
	move(b *block[T], at, stride int, from *block[T], start, step, n int)
	// realAt returns code that loads an element as float64.
	realAt() func(*block[T], int) float64
	// integerAt returns code that loads an element as int. A uint64 keeps its bits.
	integerAt() func(*block[T], int) int
	// putReal returns code that stores a float64 as an element, or adds it to the element.
	putReal(add bool) func(*block[T], int, float64)
	// putReals stores float64s as strided elements, or adds them to the elements.
	putReals(b *block[T], at, stride int, x []float64, add bool)
	// putInteger returns code that stores an int as an element, or adds it to the element. Integers wrap
	// around.
	putInteger(add bool) func(*block[T], int, int)
}

// integerStorage accesses elements of one integer type.
type integerStorage[T simd.Float] interface {
	storage[T]
	// loadWholes sets z to strided elements.
	loadWholes(b *block[T], z []int, at, step int)
	// lookUp replaces each offset in z by the element there.
	lookUp(b *block[T], z []int)
	// addWholes adds multiples of strided elements to z.
	addWholes(b *block[T], z []int, at, step, factor int)
	// putWholes stores integers with a stride. If join is not nil, it combines them with the elements
	// instead. Integers wrap around.
	putWholes(b *block[T], at, step int, x []int, join func(x, y int) int)
	// scatterWholes is putWholes for elements at places, in order. It skips elements with a negative place.
	// adds says that join adds.
	scatterWholes(b *block[T], places, x []int, adds bool, join func(x, y int) int)
}

// storageOf returns the storage of a type. It returns nil for types that loops cannot access.
func storageOf[T simd.Float](t dtype.Type) storage[T] {
	switch t {
	case dtype.F32:
		return float32s[T]{}
	case dtype.F64:
		return float64s[T]{}
	case dtype.Bool:
		return bools[T]{}
	}
	if i := integersOf[T](t); i != nil {
		return i
	}
	return nil
}

// integersOf returns the storage of an integer type. It returns nil for other types.
func integersOf[T simd.Float](t dtype.Type) integerStorage[T] {
	switch t {
	case dtype.I8:
		return wholes[T, int8]{}
	case dtype.I16:
		return wholes[T, int16]{}
	case dtype.I32:
		return wholes[T, int32]{}
	case dtype.I64:
		return wholes[T, int64]{}
	case dtype.U8:
		return wholes[T, uint8]{}
	case dtype.U16:
		return wholes[T, uint16]{}
	case dtype.U32:
		return wholes[T, uint32]{}
	case dtype.U64:
		return wholes[T, uint64]{}
	}
	return nil
}

// wholes is the storage of integer type U.
type wholes[T simd.Float, U dtype.Integer] struct{}

func (wholes[T, U]) load(b *block[T], z []T, start, stride int) {
	converted(z, wholesIn[U](b), start, stride)
}

func (wholes[T, U]) move(b *block[T], at, stride int, from *block[T], start, step, n int) {
	moved(wholesIn[U](b), at, stride, wholesIn[U](from), start, step, n)
}

func (wholes[T, U]) realAt() func(*block[T], int) float64 {
	return func(b *block[T], i int) float64 { return float64(*wholeAt[U](b, i)) }
}

func (wholes[T, U]) integerAt() func(*block[T], int) int {
	return func(b *block[T], i int) int { return int(*wholeAt[U](b, i)) }
}

func (s wholes[T, U]) putReal(add bool) func(*block[T], int, float64) {
	if add {
		return func(b *block[T], i int, v float64) { *wholeAt[U](b, i) += U(int(v)) }
	}
	return func(b *block[T], i int, v float64) { *wholeAt[U](b, i) = U(int(v)) }
}

func (wholes[T, U]) putReals(b *block[T], at, stride int, x []float64, add bool) {
	to := wholesIn[U](b)
	for _, v := range x {
		if add {
			to[at] += U(int(v))
		} else {
			to[at] = U(int(v))
		}
		at += stride
	}
}

func (wholes[T, U]) putInteger(add bool) func(*block[T], int, int) {
	if add {
		return func(b *block[T], i int, v int) { *wholeAt[U](b, i) += U(v) }
	}
	return func(b *block[T], i int, v int) { *wholeAt[U](b, i) = U(v) }
}

func (wholes[T, U]) loadWholes(b *block[T], z []int, at, step int) {
	x := wholesIn[U](b)
	if step == 1 {
		for i, v := range x[at : at+len(z)] {
			z[i] = int(v)
		}
		return
	}
	for i := range z {
		z[i] = int(x[at])
		at += step
	}
}

func (wholes[T, U]) lookUp(b *block[T], z []int) {
	x := wholesIn[U](b)
	for i, k := range z {
		z[i] = int(x[k])
	}
}

func (wholes[T, U]) addWholes(b *block[T], z []int, at, step, factor int) {
	addElements(z, wholesIn[U](b), at, step, factor)
}

func (wholes[T, U]) putWholes(b *block[T], at, step int, x []int, join func(x, y int) int) {
	to := wholesIn[U](b)
	switch {
	case join != nil:
		for _, v := range x {
			to[at] = U(join(int(to[at]), v))
			at += step
		}
	case step == 1:
		for i, v := range x {
			to[at : at+len(x)][i] = U(v)
		}
	default:
		for _, v := range x {
			to[at] = U(v)
			at += step
		}
	}
}

func (wholes[T, U]) scatterWholes(b *block[T], places, x []int, adds bool, join func(x, y int) int) {
	to := wholesIn[U](b)
	for i, k := range places {
		switch {
		case k < 0:
		case adds:
			to[k] += U(x[i])
		case join != nil:
			to[k] = U(join(int(to[k]), x[i]))
		default:
			to[k] = U(x[i])
		}
	}
}

// float32s is the storage of float32.
type float32s[T simd.Float] struct{}

func (float32s[T]) load(b *block[T], z []T, start, stride int) { read(b.same, b.f32, z, start, stride) }

func (float32s[T]) move(b *block[T], at, stride int, from *block[T], start, step, n int) {
	moved(b.f32, at, stride, from.f32, start, step, n)
}

func (float32s[T]) realAt() func(*block[T], int) float64 {
	return func(b *block[T], i int) float64 { return float64(b.f32[i]) }
}

func (float32s[T]) integerAt() func(*block[T], int) int {
	return func(b *block[T], i int) int { return int(b.f32[i]) }
}

func (float32s[T]) putReal(add bool) func(*block[T], int, float64) {
	if add {
		return func(b *block[T], i int, v float64) { b.f32[i] = float32(float64(b.f32[i]) + v) }
	}
	return func(b *block[T], i int, v float64) { b.f32[i] = float32(v) }
}

func (float32s[T]) putReals(b *block[T], at, stride int, x []float64, add bool) {
	if stride == 1 && !add {
		simd.Narrow(b.f32[at:at+len(x)], x)
		return
	}
	putReals(b.f32, at, stride, x, add)
}

func (s float32s[T]) putInteger(add bool) func(*block[T], int, int) { return converting(s, add) }

// float64s is the storage of float64.
type float64s[T simd.Float] struct{}

func (float64s[T]) load(b *block[T], z []T, start, stride int) { read(b.same, b.f64, z, start, stride) }

func (float64s[T]) move(b *block[T], at, stride int, from *block[T], start, step, n int) {
	moved(b.f64, at, stride, from.f64, start, step, n)
}

func (float64s[T]) realAt() func(*block[T], int) float64 {
	return func(b *block[T], i int) float64 { return b.f64[i] }
}

func (float64s[T]) integerAt() func(*block[T], int) int {
	return func(b *block[T], i int) int { return int(b.f64[i]) }
}

func (float64s[T]) putReal(add bool) func(*block[T], int, float64) {
	if add {
		return func(b *block[T], i int, v float64) { b.f64[i] += v }
	}
	return func(b *block[T], i int, v float64) { b.f64[i] = v }
}

func (float64s[T]) putReals(b *block[T], at, stride int, x []float64, add bool) {
	if stride == 1 && !add {
		copy(b.f64[at:at+len(x)], x)
		return
	}
	putReals(b.f64, at, stride, x, add)
}

// putReals stores float64s as strided elements, or adds them to the elements.
func putReals[U simd.Float](to []U, at, stride int, x []float64, add bool) {
	for _, v := range x {
		if add {
			v += float64(to[at])
		}
		to[at] = U(v)
		at += stride
	}
}

func (s float64s[T]) putInteger(add bool) func(*block[T], int, int) { return converting(s, add) }

// bools is the storage of booleans.
type bools[T simd.Float] struct{}

func (bools[T]) load(b *block[T], z []T, start, stride int) {
	if stride == 1 {
		simd.Truths(z, b.bits[start:start+len(z)])
		return
	}
	for i := range z {
		z[i] = T(truth(b.bits[start+i*stride]))
	}
}

func (bools[T]) move(b *block[T], at, stride int, from *block[T], start, step, n int) {
	moved(b.bits, at, stride, from.bits, start, step, n)
}

func (bools[T]) realAt() func(*block[T], int) float64 {
	return func(b *block[T], i int) float64 {
		if b.bits[i] {
			return 1
		}
		return 0
	}
}

func (bools[T]) integerAt() func(*block[T], int) int {
	return func(b *block[T], i int) int { return truth(b.bits[i]) }
}

func (bools[T]) putReal(bool) func(*block[T], int, float64) {
	return func(b *block[T], i int, v float64) { b.bits[i] = v != 0 }
}

func (bools[T]) putReals(b *block[T], at, stride int, x []float64, _ bool) {
	for _, v := range x {
		b.bits[at] = v != 0
		at += stride
	}
}

func (s bools[T]) putInteger(add bool) func(*block[T], int, int) { return converting(s, add) }

// converting returns code that converts an int to float64, and then stores or adds it.
func converting[T simd.Float](s storage[T], add bool) func(*block[T], int, int) {
	put := s.putReal(add)
	return func(b *block[T], i int, v int) { put(b, i, float64(v)) }
}

// wholesIn returns the elements of a block as a slice of their integer type.
func wholesIn[U dtype.Integer, T simd.Float](b *block[T]) []U { return as[U](b.data) }

// wholeAt returns the address of one element of a block, by its integer type.
func wholeAt[U dtype.Integer, T simd.Float](b *block[T], i int) *U {
	size := uint(unsafe.Sizeof(U(0)))
	if uint(i) >= uint(len(b.data))/size {
		panic("an element lies outside its memory")
	}
	return (*U)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.data)), uint(i)*size))
}
