package kernels

import "github.com/opgen/opgen/runtime/shape"

// pieces calls f for each stretch of the elements lo to hi-1 of a tensor that is made of parts, joined
// along a dimension: elements at to at+n-1 are elements from to from+n-1 of part k. The parts have the
// given extents along that dimension; inner is the number of elements behind it.
func pieces(extents []int, inner, lo, hi int, f func(k, from, at, n int)) {
	row := shape.Sum(extents) * inner
	for at := lo; at < hi; {
		outer, off := at/row, at%row
		k := 0
		for ; off >= extents[k]*inner; k++ {
			off -= extents[k] * inner
		}
		n := min(extents[k]*inner-off, hi-at)
		f(k, outer*extents[k]*inner+off, at, n)
		at += n
	}
}
