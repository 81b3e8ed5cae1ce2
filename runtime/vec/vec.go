// Package vec offers vector code over lanes: the loops that kernels share.
//
// Sums of float32 are carried in float64, in the order of the elements, so results do not depend on
// how work is split among workers.
package vec

import (
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/sorting"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Dot returns the sum of the products of the elements of a and b, which have the same length.
func Dot[T dtype.Float](a, b tensor.ROLane[T]) T {
	x, n, s := unlock.Lane(a.Sealed())
	y, _, u := unlock.Lane(b.Sealed())
	var sum float64
	for i := range n {
		sum += float64(x[i*s]) * float64(y[i*u])
	}
	return T(sum)
}

// Sum returns the sum of the elements.
func Sum[T dtype.Float](a tensor.ROLane[T]) T { return T(Total(a)) }

// Total returns the sum of the elements in float64, without the rounding of Sum.
func Total[T dtype.Float](a tensor.ROLane[T]) float64 {
	x, n, s := unlock.Lane(a.Sealed())
	var sum float64
	for i := range n {
		sum += float64(x[i*s])
	}
	return sum
}

// Max returns the largest element, NaN if one is NaN, and -Inf for an empty lane.
func Max[T dtype.Float](a tensor.ROLane[T]) T {
	x, n, s := unlock.Lane(a.Sealed())
	m := T(math.Inf(-1))
	for i := range n {
		m = max(m, x[i*s])
	}
	return m
}

// Copy copies src to dst, which has the same length.
func Copy[T dtype.Element](dst tensor.WOLane[T], src tensor.ROLane[T]) {
	d, n, u := unlock.Lane(dst.Sealed())
	x, _, s := unlock.Lane(src.Sealed())
	if u == 1 && s == 1 {
		copy(d[:n], x[:n])
		return
	}
	for i := range n {
		d[i*u] = x[i*s]
	}
}

// Fill sets every element.
func Fill[T dtype.Element](dst tensor.WOLane[T], x T) {
	d, n, u := unlock.Lane(dst.Sealed())
	for i := range n {
		d[i*u] = x
	}
}

// ExpNorm writes the exponentials of src, scaled to sum 1, to dst: the softmax of a lane.
func ExpNorm[T dtype.Float](dst tensor.WOLane[T], src tensor.ROLane[T]) {
	d, n, u := unlock.Lane(dst.Sealed())
	x, _, s := unlock.Lane(src.Sealed())
	top := float64(Max(src))
	var sum float64
	for i := range n {
		sum += math.Exp(float64(x[i*s]) - top)
	}
	// The exponentials are computed twice rather than kept as T, which would round them before
	// they are divided.
	inv := 1 / sum
	for i := range n {
		d[i*u] = T(math.Exp(float64(x[i*s])-top) * inv)
	}
}

// Largest writes the numbers of the n largest elements of a to the front of order, which has the length
// of a: the largest first if sorted, otherwise in the order of a. Of equal elements the first count, and
// NaN counts as largest.
func Largest[T dtype.Number](order tensor.RWLane[int64], a tensor.ROLane[T], n int, sorted bool) {
	to, count, u := unlock.Lane(order.WO().Sealed())
	if u != 1 {
		panic("vec: Largest needs neighboring elements")
	}
	x, _, s := unlock.Lane(a.Sealed())
	if s != 1 {
		near := make([]T, count)
		for i := range near {
			near[i] = x[i*s]
		}
		x = near
	}
	sorting.First(to[:n], x[:count], true)
	if !sorted {
		slices.Sort(to[:n])
	}
}
