package simd

import (
	"fmt"
	"math"
)

// lanes is the number of accumulators of a fold: as many as keep the wide registers of a processor busy.
const lanes = 64

// Lanes holds the accumulators of a fold, interleaved: the element at place i of what is folded goes to lane
// i%64.
//
// What is folded may come in several calls, such as one for each strip of a row. The first element of a call
// goes to lane 0, so the number of elements of every call but the last must be a multiple of 64. A lane to
// which no element goes keeps its value. So fill the lanes with what does not change the result: 0 for a sum,
// 1 for a product, an infinity for a greatest or least element.
type Lanes[T Float] [lanes]T

// Fill sets every lane to v.
func (a *Lanes[T]) Fill(v T) {
	if *a = (Lanes[T]{}); v == 0 && !math.Signbit(float64(v)) {
		return
	}
	a[0], a[1], a[2], a[3] = v, v, v, v
	for n := 4; n < lanes; n *= 2 {
		copy(a[n:], a[:n])
	}
}

// Sum returns the sum of the lanes. Lane i is added to lane i+32, the sum of these to that of lanes i+16, and
// so on.
func (a *Lanes[T]) Sum() T { return functions[T]().sumLanes(a) }

// Prod returns the product of the lanes, in the order of Sum.
func (a *Lanes[T]) Prod() T { return functions[T]().prodLanes(a) }

// Max returns the greatest lane, or a NaN if there is one.
func (a *Lanes[T]) Max() T { return functions[T]().maxLanes(a) }

// Min returns the least lane, or a NaN if there is one.
func (a *Lanes[T]) Min() T { return functions[T]().minLanes(a) }

// SumInto adds the elements of x to the lanes.
func SumInto[T Float](a *Lanes[T], x []T) { functions[T]().sumInto(a, x) }

// ProdInto multiplies the lanes by the elements of x.
func ProdInto[T Float](a *Lanes[T], x []T) { functions[T]().prodInto(a, x) }

// MaxInto sets each lane to the greatest of itself and the elements of x that go to it, or to a NaN if one
// is.
func MaxInto[T Float](a *Lanes[T], x []T) { functions[T]().maxInto(a, x) }

// MinInto sets each lane to the least of itself and the elements of x that go to it, or to a NaN if one is.
func MinInto[T Float](a *Lanes[T], x []T) { functions[T]().minInto(a, x) }

// SumRows sets every z[i] to the sum of n elements of x from i*apart on: what SumInto and Sum give with lanes
// that are 0. It panics unless n is a multiple of 64 above 0, and x has the elements.
func SumRows[T Float](z, x []T, n, apart int) {
	checkRows(len(z), len(x), n, apart)
	functions[T]().sumRows(z, x, n, apart)
}

// MaxRows is SumRows for the greatest element, or a NaN if there is one.
func MaxRows[T Float](z, x []T, n, apart int) {
	checkRows(len(z), len(x), n, apart)
	functions[T]().maxRows(z, x, n, apart)
}

// MinRows is SumRows for the least element, or a NaN if there is one.
func MinRows[T Float](z, x []T, n, apart int) {
	checkRows(len(z), len(x), n, apart)
	functions[T]().minRows(z, x, n, apart)
}

// checkRows panics unless rows of n elements, apart from one another, can be folded and lie in a slice of the
// given length.
func checkRows(rows, length, n, apart int) {
	if n <= 0 || n%lanes != 0 || apart < 0 || rows > 0 && (rows-1)*apart+n > length {
		panic(fmt.Sprintf("simd: %d rows of %d elements, %d apart, in %d elements", rows, n, apart, length))
	}
}

// Ahead is how many rows ahead of those that it adds SumAt asks for memory.
const Ahead = 8

// SumAt sets every z[j] to the sum of x[i+j] for the first places i in at, as many as rows says, one after
// the other. The next Ahead places of at are those of rows that are used soon, and are of no account for the
// result. It panics unless at has all of these, and x the elements that are added.
func SumAt[T Float](z, x []T, at []int, rows int) {
	if rows < 0 || len(at)-Ahead < rows || len(z) > len(x) && rows > 0 {
		panic(fmt.Sprintf("simd: %d rows of %d elements at %d places in %d elements", rows, len(z), len(at), len(x)))
	}
	for _, i := range at[:rows] {
		if last := len(x) - len(z); uint(i) > uint(last) {
			panic(fmt.Sprintf("simd: a row begins at %d, want it from 0 to %d", i, last))
		}
	}
	functions[T]().sumAt(z, x, at, rows)
}

func sumAt[T Float](z, x []T, at []int, rows int) {
	clear(z)
	for _, i := range at[:rows] {
		for j, v := range x[i : i+len(z)] {
			z[j] += v
		}
	}
}

// DotInto adds the products x[i]*y[i] to the lanes. Each product is rounded.
func DotInto[T Float](a *Lanes[T], x, y []T) {
	check(len(x), len(y), len(y), len(y))
	functions[T]().dotInto(a, x, y)
}

// ExpInto adds e^(x[i] - shift) to the lanes. Each difference is rounded.
func ExpInto[T Float](a *Lanes[T], x []T, shift T) { functions[T]().expInto(a, x, shift) }
