// Package vec offers vector code over lanes: the loops that kernels share.
//
// Sums of float32 are carried in float64, in an order that depends on the number of elements only, so results
// do not depend on how work is split among workers.
package vec

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/internal/base/sorting"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Dot returns the sum of the products of the elements of a and b, which have the same length.
func Dot[T dtype.Float](a, b tensor.ROLane[T]) T {
	x, n, s := unlock.Lane(a.Sealed())
	y, _, u := unlock.Lane(b.Sealed())
	var sum float64
	for i := range n {
		sum += float64(float64(x[i*s]) * float64(y[i*u]))
	}
	return T(sum)
}

// Sum returns the sum of the elements.
func Sum[T dtype.Float](a tensor.ROLane[T]) T { return T(Total(a)) }

// Total returns the sum of the elements in float64, without the rounding of Sum. Elements whose numbers are
// the same modulo 4 are added in their order, and then the four sums: a processor adds to one while the last
// addition to another one is not done.
func Total[T dtype.Float](a tensor.ROLane[T]) float64 {
	x, n, s := unlock.Lane(a.Sealed())
	var sums [4]float64
	i := 0
	if s == 1 {
		var p, q, r, t float64
		for ; i+4 <= n; i += 4 { // loads before conversions: one conversion then does not wait for another
			part := x[i : i+4 : i+4]
			a, b, c, d := part[0], part[1], part[2], part[3]
			p += float64(a)
			q += float64(b)
			r += float64(c)
			t += float64(d)
		}
		sums = [4]float64{p, q, r, t}
	}
	for ; i < n; i++ {
		sums[i%4] += float64(x[i*s])
	}
	return (sums[0] + sums[1]) + (sums[2] + sums[3])
}

// Add adds the elements of src to those of dst, which has the same length.
func Add[T dtype.Float](dst tensor.RWLane[T], src tensor.ROLane[T]) {
	d, n, u := unlock.Lane(dst.WO().Sealed())
	x, _, s := unlock.Lane(src.Sealed())
	if u == 1 && s == 1 {
		addLists(d[:n], x[:n])
		return
	}
	for i := range n {
		d[i*u] += x[i*s]
	}
}

// addLists adds the elements of x to those of z.
func addLists[T dtype.Float](z, x []T) { simd.BinaryOf[T](simd.Add)(z, z, x) }

// ShiftRows adds to each element the shift of its row. Rows have the given number of elements, and after the
// last shift comes the first one again.
func ShiftRows[T dtype.Float](dst tensor.RWLane[T], shifts tensor.ROLane[T], size int) {
	d, n, u := unlock.Lane(dst.WO().Sealed())
	x, m, s := unlock.Lane(shifts.Sealed())
	if size < 1 || n%size != 0 || m == 0 && n > 0 {
		panic(fmt.Sprintf("vec: ShiftRows needs whole rows of %d elements, and a shift, but there are %d elements and %d shifts", size, n, m))
	}
	add := simd.BinaryScalarOf[T](simd.Add)
	for i := range n / size {
		shift := x[i%m*s]
		if u == 1 {
			row := d[i*size : (i+1)*size]
			add(row, row, shift)
			continue
		}
		for j := i * size; j < (i+1)*size; j++ {
			d[j*u] += shift
		}
	}
}

// AtLeast replaces every element that is less than x by x. A NaN stays NaN.
func AtLeast[T dtype.Float](dst tensor.RWLane[T], x T) { apply(dst, simd.Max, x) }

// apply sets every element y to the result of an operation on y and x.
func apply[T dtype.Float](dst tensor.RWLane[T], op simd.Binary, x T) {
	d, n, u := unlock.Lane(dst.WO().Sealed())
	f := simd.BinaryScalarOf[T](op)
	if u == 1 {
		f(d[:n], d[:n], x)
		return
	}
	for i := range n {
		f(d[i*u:i*u+1], d[i*u:i*u+1], x)
	}
}

// Gate writes the elements of src to dst where those of open are above 0 or NaN, and else 0: the gradient
// before max(x, 0), whose result is open. All have the same length. dst overlaps with none of the others.
func Gate[T dtype.Float](dst tensor.WOLane[T], src, open tensor.ROLane[T]) {
	d, n, u := unlock.Lane(dst.Sealed())
	x, _, s := unlock.Lane(src.Sealed())
	y, _, v := unlock.Lane(open.Sealed())
	if u != 1 || s != 1 || v != 1 {
		for i := range n {
			if d[i*u] = x[i*s]; y[i*v] <= 0 {
				d[i*u] = 0
			}
		}
		return
	}
	none := zeros[T]()
	for lo := 0; lo < n; lo += len(none) {
		hi := min(lo+len(none), n)
		simd.BinaryScalarOf[T](simd.AtMost)(d[lo:hi], y[lo:hi], 0)
		simd.Select(d[lo:hi], d[lo:hi], none[:hi-lo], x[lo:hi])
	}
}

var (
	zeros32 [256]float32
	zeros64 [256]float64
)

// zeros returns elements that are 0 and stay so.
func zeros[T dtype.Float]() []T {
	if z, ok := any(zeros32[:]).([]T); ok {
		return z
	}
	return any(zeros64[:]).([]T)
}

// Put contributes the elements of src to those of dst, which has the same length.
func Put[T dtype.Float](dst tensor.GradLane[T], src tensor.ROLane[T]) {
	x, n, s := unlock.Lane(src.Sealed())
	if s == 1 {
		dst.PutAll(0, x[:n])
		return
	}
	for i := range n {
		dst.Put(i, x[i*s])
	}
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
	one := n // elements that are set one by one
	if u == 1 {
		one = min(n, 16)
	}
	for i := range one {
		d[i*u] = x
	}
	for done := one; done < n; done *= 2 { // copies go many elements at a time
		copy(d[done:n], d[:done])
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
