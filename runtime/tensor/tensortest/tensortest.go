// Package tensortest makes views of slices, for tests of code that takes views. Kernels get their views
// from generated code instead.
package tensortest

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/tensor"
)

// RO returns a view for reading data, row-major, as a tensor of a shape.
func RO[T dtype.Element](data []T, shape ...int) tensor.RO[T] {
	return tensor.MakeRO(unlock.Seal(data), shape)
}

// WO returns a view for writing data, row-major, as a tensor of a shape.
func WO[T dtype.Element](data []T, shape ...int) tensor.WO[T] {
	return tensor.MakeWO(unlock.Seal(data), shape)
}

// RW returns a view for reading and writing data, row-major, as a tensor of a shape.
func RW[T dtype.Element](data []T, shape ...int) tensor.RW[T] {
	return tensor.MakeRW(unlock.Seal(data), shape)
}

// Grad returns a gradient of a shape. Elements are put to data, which is nil if the mode discards them.
func Grad[T dtype.Number](mode tensor.Mode, data []T, shape ...int) tensor.Grad[T] {
	return tensor.MakeGrad(unlock.Seal(data), shape, sizeOf(shape), mode)
}

// Scatter returns a gradient of a shape. Elements are added to data, which is nil if nothing wants the
// gradient.
func Scatter[T dtype.Number](data []T, shape ...int) tensor.Scatter[T] {
	return tensor.MakeScatter(unlock.Seal(data), shape, sizeOf(shape))
}

// PerWorker returns scratch memory of which each worker has one of the views.
func PerWorker[T dtype.Element](own ...tensor.RW[T]) tensor.PerWorker[T] {
	return tensor.MakePerWorker(own)
}

// Reduction returns a view that folds values into data. ok is false if the reduction does not fold elements
// of the type.
func Reduction[T dtype.Element](op perm.Redop, data []T, shape ...int) (v tensor.Reduction[T], ok bool) {
	return tensor.MakeReduction(unlock.Seal(data), shape, op)
}

func sizeOf(shape []int) int {
	n := 1
	for _, extent := range shape {
		n *= extent
	}
	return n
}
