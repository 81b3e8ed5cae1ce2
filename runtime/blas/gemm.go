// Package blas offers matrix products over views.
//
// An element of a product is a sum over k, in order, with one rounding for each product that is added. Sums
// of 256 products are added up. So results depend neither on the instructions that the processor has, nor on
// how rows and columns are divided among workers.
package blas

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Gemm computes alpha*a*b and puts it into c: the mode of c decides whether it is stored, added or dropped. a
// is m x k, b is k x n, c is m x n; other sizes panic. c must not overlap a or b.
func Gemm[T dtype.Float](c tensor.OutMat[T], alpha T, a, b tensor.ROMat[T]) {
	m, n, k := a.Rows(), b.Cols(), a.Cols()
	if b.Rows() != k || c.Rows() != m || c.Cols() != n {
		panic(fmt.Sprintf("blas: Gemm of %dx%d and %dx%d into %dx%d", m, k, b.Rows(), n, c.Rows(), c.Cols()))
	}
	if c.Mode() == tensor.Discard || m == 0 || n == 0 {
		return
	}
	cd, ldc, _ := unlock.Mat(c.Sealed())
	ad, lda, at := unlock.Mat(a.Sealed())
	bd, ldb, bt := unlock.Mat(b.Sealed())
	if alpha != 1 {
		ad, lda, at = scaled(alpha, ad, lda, at, m, k), k, false
	}
	Multiply(cd, ldc, ad, lda, at, bd, ldb, bt, m, n, k, c.Mode() == tensor.Accumulate)
}

// scaled returns alpha*a, by rows.
func scaled[T dtype.Float](alpha T, a []T, lda int, ta bool, m, k int) []T {
	row, col := steps(lda, ta)
	out := make([]T, m*k)
	for i := range m {
		for l := range k {
			out[i*k+l] = alpha * a[i*row+l*col]
		}
	}
	return out
}

// steps returns how far rows and columns of a matrix lie apart.
func steps(ld int, transposed bool) (row, col int) {
	if transposed {
		return 1, ld
	}
	return ld, 1
}
