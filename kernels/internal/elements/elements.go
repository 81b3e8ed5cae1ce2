// Package elements applies functions element by element.
package elements

import (
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// Map sets elements lo to hi-1 of out to f of the same elements of x.
func Map[A, B dtype.Element](out tensor.WO[B], x tensor.RO[A], lo, hi int, f func(A) B) {
	for i := lo; i < hi; i++ {
		out.Set(i, f(x.At(i)))
	}
}

// MapAt is Map with a function that also takes the number of the element.
func MapAt[A, B dtype.Element](out tensor.WO[B], x tensor.RO[A], lo, hi int, f func(i int, x A) B) {
	for i := lo; i < hi; i++ {
		out.Set(i, f(i, x.At(i)))
	}
}

// Zip sets elements lo to hi-1 of out to f of the elements of x and y that broadcasting puts there.
func Zip[A, B, C dtype.Element](out tensor.WO[C], x tensor.RO[A], y tensor.RO[B], lo, hi int, f func(A, B) C) {
	dims := out.Shape()
	w := index.New(dims, lo, shape.BroadcastStrides(x.Shape(), dims), shape.BroadcastStrides(y.Shape(), dims))
	for i := lo; i < hi; i++ {
		out.Set(i, f(x.At(w.Offset(0)), y.At(w.Offset(1))))
		w.Next()
	}
}
