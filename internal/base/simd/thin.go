package simd

import "fmt"

// thin is a function that adds sums of k products of as many rows and some columns to z, a column of z after
// the other. k is a multiple of thinStep.
type thin[T Float] struct {
	rows int
	add  func(z, x []T, ld int, y []T, row, col, k int)
}

// thinStep is what numbers of products are multiples of. It suffices for both element types.
const thinStep = 4

// mostRows is how many rows a function of thin has at most.
const mostRows = 32

// Thin computes a product of m rows and n columns, at most four: z[i*zrow+j*zcol] is the sum of x[i*ld+l] *
// y[l*row+j*col] over l from 0 to k-1, in this order, with one rounding for each product, as in Tile, or is
// increased by the sum if more says so. Rows of x are transposed in registers. It does nothing and returns
// false where tiles take less time: for few rows, and for sets of instructions without functions for it.
func Thin[T Float](z []T, zrow, zcol int, x []T, ld int, y []T, row, col, m, n, k int, more bool) bool {
	t := functions[T]()
	if n < 1 || n > len(t.thin) || t.thin[n-1].add == nil || m < t.thin[n-1].rows || k < 1 {
		return false
	}
	if min(zrow, zcol, ld, row, col) < 0 || len(z) < (m-1)*zrow+(n-1)*zcol+1 || len(x) < (m-1)*ld+k || len(y) < (k-1)*row+(n-1)*col+1 {
		panic(fmt.Sprintf("simd: a product of %d x %d sums of %d products: %d, %d and %d elements at distances %d and %d, %d, %d and %d do not suffice",
			m, n, k, len(z), len(x), len(y), zrow, zcol, ld, row, col))
	}
	f := &t.thin[n-1]
	var sums [mostRows * len(t.thin)]T
	var restX [mostRows * thinStep]T
	var restY [len(t.thin) * thinStep]T
	whole := k &^ (thinStep - 1)
	if whole < k { // products of 0 and -0 change no sum
		for i := range restY {
			restY[i] = negativeZero[T]()
		}
		for j := range n {
			for l := whole; l < k; l++ {
				restY[(l-whole)*n+j] = y[l*row+j*col]
			}
		}
	}
	for i := 0; i < m; i += f.rows {
		first := min(i, m-f.rows) // the last rows are computed together, and only those stored that are new
		clear(sums[:n*f.rows])
		if whole > 0 {
			f.add(sums[:], x[first*ld:], ld, y, row, col, whole)
		}
		if whole < k {
			for p := range f.rows {
				copy(restX[p*thinStep:(p+1)*thinStep], x[(first+p)*ld+whole:(first+p)*ld+k])
			}
			f.add(sums[:], restX[:], thinStep, restY[:], n, 1, thinStep)
		}
		for j := range n {
			of := sums[j*f.rows+i-first : (j+1)*f.rows]
			to := z[i*zrow+j*zcol:]
			switch {
			case more:
				for p, v := range of {
					to[p*zrow] += v
				}
			case zrow == 1:
				copy(to, of)
			default:
				for p, v := range of {
					to[p*zrow] = v
				}
			}
		}
	}
	return true
}

// negativeZero returns -0.
func negativeZero[T Float]() T {
	var zero T
	return -zero
}
