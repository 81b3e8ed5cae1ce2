// Package tensortest makes views of slices, for tests of code that takes views. Kernels get their views
// from generated code instead.
package tensortest

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// RO returns a view for reading data, row-major, as a tensor of a shape.
func RO[T dtype.Element](data []T, shape ...int) tensor.RO[T] {
	return tensor.MakeRO(unlock.Key{}, data, shape)
}

// WO returns a view for writing data, row-major, as a tensor of a shape.
func WO[T dtype.Element](data []T, shape ...int) tensor.WO[T] {
	return tensor.MakeWO(unlock.Key{}, data, shape)
}
