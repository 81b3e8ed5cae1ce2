package tensor

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/perm"
)

// The functions below make views of contiguous row-major memory. Only packages of the runtime can call
// them, since no other can name the key.

// MakeRO returns a view for reading.
func MakeRO[T dtype.Element](_ unlock.Key, data []T, shape []int) RO[T] {
	return RO[T]{rows(shape), data}
}

// MakeWO returns a view for writing.
func MakeWO[T dtype.Element](_ unlock.Key, data []T, shape []int) WO[T] {
	return WO[T]{rows(shape), data}
}

// MakeRW returns a view for reading and writing.
func MakeRW[T dtype.Element](_ unlock.Key, data []T, shape []int) RW[T] {
	return RW[T]{rows(shape), data}
}

// MakeGrad returns a gradient of n elements; data is nil if mode is Discard.
func MakeGrad[T dtype.Number](_ unlock.Key, data []T, shape []int, n int, mode Mode) Grad[T] {
	return Grad[T]{rows(shape), data, n, mode}
}

// MakeScatter returns a gradient of n elements to add to; data is nil if it is unused.
func MakeScatter[T dtype.Number](_ unlock.Key, data []T, shape []int, n int) Scatter[T] {
	return Scatter[T]{rows(shape), data, n}
}

// MakePerWorker returns scratch memory, one view for each worker.
func MakePerWorker[T dtype.Element](_ unlock.Key, own []RW[T]) PerWorker[T] {
	return PerWorker[T]{own}
}

// MakeReduction returns a tensor into which values are folded with an operator; ok is false if the operator does not fold
// elements of the type.
func MakeReduction[T dtype.Element](_ unlock.Key, data []T, shape []int, op perm.Redop) (v Reduction[T], ok bool) {
	join := joining[T](op)
	return Reduction[T]{rows(shape), data, join}, join != nil
}
