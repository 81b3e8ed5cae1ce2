package kernels

import (
	"github.com/opgen/opgen/generated/batchmatmul"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// BatchMatmul is the kernel of batch_matmul. Ranges of backward are rows of all matrices of a batch, one after the
// other.
type BatchMatmul[T dtype.Float] struct{}

// eachMatrix calls f for the rows lo to hi-1 of every matrix that has rows in r.
func eachMatrix(r op.Range, rows int, f func(matrix, lo, hi int)) {
	for lo := r.Lo; lo < r.Hi; {
		m := lo / rows
		hi := min(r.Hi, (m+1)*rows)
		f(m, lo-m*rows, hi-m*rows)
		lo = hi
	}
}

// Forward computes rows and columns of matrices of the output.
func (BatchMatmul[T]) Forward(_ *op.Ctx, a *batchmatmul.Forward[T], r op.Range) error {
	d := &a.Dims
	left, right := shape.BroadcastStrides(d.A, d.O), shape.BroadcastStrides(d.B, d.O)
	top, bottom := r.Dim(1)
	lo, hi := r.Dim(2)
	for m := r.Lo; m < r.Hi; m++ {
		w := index.New(d.O, m, left, right)
		blas.Gemm(a.Output.Mat(m*d.M*d.N, d.M, d.N).RowRange(top, bottom).ColRange(lo, hi), 1,
			a.LhsInput.Mat(w.Offset(0)*d.M*d.K, d.M, d.K).RowRange(top, bottom), a.RhsInput.Mat(w.Offset(1)*d.K*d.N, d.K, d.N).ColRange(lo, hi))
	}
	return nil
}

// BackwardLhs computes rows of the gradient of lhs_input: grad * transpose(rhs), summed over the
// matrices of the output that depend on one of lhs_input.
func (BatchMatmul[T]) BackwardLhs(_ *op.Ctx, a *batchmatmul.Backward[T], r op.Range) error {
	d := &a.Dims
	eachMatrix(r, d.M, func(m, lo, hi int) {
		to := a.GradLhsInput.Mat(m*d.M*d.K, d.M, d.K).RowRange(lo, hi)
		sumProducts(to, index.NewGroups(d.O, shape.BroadcastAxes(d.A, d.O), m, shape.Strides(d.O), shape.BroadcastStrides(d.B, d.O)),
			func(out, rhs int) (tensor.ROMat[T], tensor.ROMat[T]) {
				return a.GradOutput.Mat(out*d.M*d.N, d.M, d.N).RowRange(lo, hi), a.RhsInput.Mat(rhs*d.K*d.N, d.K, d.N).T()
			})
	})
	return nil
}

// BackwardRhs computes rows of the gradient of rhs_input: transpose(lhs) * grad, summed likewise.
func (BatchMatmul[T]) BackwardRhs(_ *op.Ctx, a *batchmatmul.Backward[T], r op.Range) error {
	d := &a.Dims
	eachMatrix(r, d.K, func(m, lo, hi int) {
		to := a.GradRhsInput.Mat(m*d.K*d.N, d.K, d.N).RowRange(lo, hi)
		sumProducts(to, index.NewGroups(d.O, shape.BroadcastAxes(d.B, d.O), m, shape.Strides(d.O), shape.BroadcastStrides(d.A, d.O)),
			func(out, lhs int) (tensor.ROMat[T], tensor.ROMat[T]) {
				return a.LhsInput.Mat(lhs*d.M*d.K, d.M, d.K).T().RowRange(lo, hi), a.GradOutput.Mat(out*d.M*d.N, d.M, d.N)
			})
	})
	return nil
}

// sumProducts puts the sum of the products of pairs of matrices, one pair for each element of a group.
func sumProducts[T dtype.Float](to tensor.OutMat[T], g *index.Groups, pair func(out, other int) (x, y tensor.ROMat[T])) {
	if g.Size() == 0 {
		var none tensor.RO[T]
		blas.Gemm(to, 1, none.Mat(0, to.Rows(), 0), none.Mat(0, 0, to.Cols())) // zeros
		return
	}
	for _, out := range g.All() {
		x, y := pair(out, g.Offset(1))
		blas.Gemm(to, 1, x, y)
		to = to.Accumulating()
	}
}
