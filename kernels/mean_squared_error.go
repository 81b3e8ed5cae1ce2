package kernels

import (
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// MeanSquaredError is the kernel of mean_squared_error.
type MeanSquaredError[T dtype.Float] struct{}

// mseScale returns the factor from the difference to the gradient, twice that from squares to the loss.
func mseScale(at *mse.Attrs, d *mse.Dims) float64 {
	if s, ok := at.ScaleFactor.Get(); ok {
		return s
	}
	return 2 * lossScale(at.ScaleFactor, at.LossType == mse.LossTypeMeanSquaredErrorSumReduce, shape.Prod(d.N)*d.K)
}

// ForwardRows computes the sums of the squares of rows.
func (MeanSquaredError[T]) ForwardRows(_ *op.Ctx, a *mse.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.RowLoss.Set(i, vec.SquaredDistance(a.Logit.Lane(i), a.Label.Lane(i)))
	}
	return nil
}

// ForwardLoss sums the squares of all rows.
func (MeanSquaredError[T]) ForwardLoss(_ *op.Ctx, a *mse.Forward[T], _ op.Range) error {
	setLoss(a.Loss, a.RowLoss, mseScale(&a.Attrs, &a.Dims)/2)
	return nil
}

// Backward computes rows of the gradient.
func (MeanSquaredError[T]) Backward(_ *op.Ctx, a *mse.Backward[T], r op.Range) error {
	scale := float64(a.GradLoss.At(0)) * mseScale(&a.Attrs, &a.Dims)
	for i := r.Lo * a.Dims.K; i < r.Hi*a.Dims.K; i++ {
		a.GradLogit.Put(i, T(scale*(float64(a.Logit.At(i))-float64(a.Label.At(i)))))
	}
	return nil
}
