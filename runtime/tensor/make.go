package tensor

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/perm"
)

// The functions below make views of contiguous row-major memory. Only packages of the runtime can give them
// memory, since no other can seal it.

// MakeRO returns a view for reading.
func MakeRO[T dtype.Element](m unlock.Memory[T], shape []int) RO[T] {
	return RO[T]{layout: rows(shape), data: unlock.Open(m)}
}

// MakeWO returns a view for writing.
func MakeWO[T dtype.Element](m unlock.Memory[T], shape []int) WO[T] {
	return WO[T]{layout: rows(shape), data: unlock.Open(m)}
}

// MakeRW returns a view for reading and writing.
func MakeRW[T dtype.Element](m unlock.Memory[T], shape []int) RW[T] {
	return RW[T]{layout: rows(shape), data: unlock.Open(m)}
}

// MakeGrad returns a gradient of n elements; the memory is empty if mode is Discard.
func MakeGrad[T dtype.Number](m unlock.Memory[T], shape []int, n int, mode Mode) Grad[T] {
	return Grad[T]{layout: rows(shape), data: unlock.Open(m), n: n, mode: mode}
}

// MakeScatter returns a gradient of n elements to add to; the memory is nil if it is unused.
func MakeScatter[T dtype.Number](m unlock.Memory[T], shape []int, n int) Scatter[T] {
	return Scatter[T]{layout: rows(shape), data: unlock.Open(m), n: n}
}

// MakePerWorker returns scratch memory, one view for each worker.
func MakePerWorker[T dtype.Element](own []RW[T]) PerWorker[T] {
	return PerWorker[T]{own}
}

// MakeReduction returns a tensor into which values are folded with an operator; ok is false if the operator
// does not fold elements of the type.
func MakeReduction[T dtype.Element](m unlock.Memory[T], shape []int, op perm.Redop) (v Reduction[T], ok bool) {
	join := Joining[T](op)
	return makeOwnReduction(m, shape, join), join != nil
}

// makeOwnReduction returns a tensor into which values are folded with a function.
func makeOwnReduction[T dtype.Element](m unlock.Memory[T], shape []int, fold func(x, y T) T) Reduction[T] {
	return Reduction[T]{layout: rows(shape), data: unlock.Open(m), join: fold}
}
