// Package blas offers matrix products over views.
//
// It calls [gonum], in blocks so small that gonum starts no goroutines of its own: the engine decides what
// runs at the same time. The blocks depend on shapes only, so results do not depend on the number of workers.
//
// [gonum]: https://www.gonum.org
package blas

import (
	"fmt"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// gonum starts goroutines from four blocks of 64 x 64 on; 64 x 192 are three.
const (
	blockRows = 64
	blockCols = 192
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
	for i := 0; i < m; i += blockRows {
		ai := a.RowRange(i, min(i+blockRows, m))
		ci := c.RowRange(i, min(i+blockRows, m))
		for j := 0; j < n; j += blockCols {
			hi := min(j+blockCols, n)
			gemmBlock(ci.ColRange(j, hi), alpha, ai, b.ColRange(j, hi))
		}
	}
}

func gemmBlock[T dtype.Float](c tensor.OutMat[T], alpha T, a, b tensor.ROMat[T]) {
	m, n, k := a.Rows(), b.Cols(), a.Cols()
	cd, ldc, _ := unlock.Mat(c.Sealed())
	var beta T
	if c.Mode() == tensor.Accumulate {
		beta = 1
	}
	if k == 0 {
		if beta == 0 {
			for i := range m {
				clear(cd[i*ldc : i*ldc+n])
			}
		}
		return
	}
	ad, lda, at := unlock.Mat(a.Sealed())
	bd, ldb, bt := unlock.Mat(b.Sealed())
	switch cd := any(cd).(type) {
	case []float32:
		gonum.Implementation{}.Sgemm(transpose(at), transpose(bt), m, n, k,
			float32(alpha), any(ad).([]float32), lda, any(bd).([]float32), ldb, float32(beta), cd, ldc)
	case []float64:
		gonum.Implementation{}.Dgemm(transpose(at), transpose(bt), m, n, k,
			float64(alpha), any(ad).([]float64), lda, any(bd).([]float64), ldb, float64(beta), cd, ldc)
	}
}

func transpose(t bool) gblas.Transpose {
	if t {
		return gblas.Trans
	}
	return gblas.NoTrans
}

// Multiply stores the product of a and b in c, or adds it to c. a is m x k and b is k x n; both are stored by rows, of
// lda and ldb elements from one to the next, or by columns if ta and tb say so. c is m x n, by rows.
func Multiply[T dtype.Float](c []T, ldc int, a []T, lda int, ta bool, b []T, ldb int, tb bool, m, n, k int, add bool) {
	var beta T
	if add {
		beta = 1
	}
	if k == 0 || m == 0 || n == 0 {
		for i := 0; beta == 0 && i < m; i++ {
			clear(c[i*ldc : i*ldc+n])
		}
		return
	}
	at := func(x []T, i, ld int, transposed bool) []T { // row i of x
		if transposed {
			return x[i:]
		}
		return x[i*ld:]
	}
	for i := 0; i < m; i += blockRows {
		rows := min(blockRows, m-i)
		for j := 0; j < n; j += blockCols {
			gemm(c[i*ldc+j:], ldc, at(a, i, lda, ta), lda, ta, at(b, j, ldb, !tb), ldb, tb, rows, min(blockCols, n-j), k, beta)
		}
	}
}

func gemm[T dtype.Float](c []T, ldc int, a []T, lda int, ta bool, b []T, ldb int, tb bool, m, n, k int, beta T) {
	switch c := any(c).(type) {
	case []float32:
		gonum.Implementation{}.Sgemm(transpose(ta), transpose(tb), m, n, k, 1, any(a).([]float32), lda, any(b).([]float32), ldb, float32(beta), c, ldc)
	case []float64:
		gonum.Implementation{}.Dgemm(transpose(ta), transpose(tb), m, n, k, 1, any(a).([]float64), lda, any(b).([]float64), ldb, float64(beta), c, ldc)
	}
}
