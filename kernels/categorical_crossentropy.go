package kernels

import (
	cce "github.com/opgen/opgen/generated/categoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// CategoricalCrossentropy is the kernel of categorical_crossentropy.
type CategoricalCrossentropy[T dtype.Float] struct{}

func cceScale(at *cce.Attrs, d *cce.Dims) float64 {
	return lossScale(at.ScaleFactor, at.Reduction == cce.ReductionSum, shape.Prod(d.N))
}

// ForwardRows computes the loss of rows.
func (CategoricalCrossentropy[T]) ForwardRows(_ *op.Ctx, a *cce.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		row, label := a.Logit.Lane(i), a.Label.Lane(i)
		lse := keepLogSumExp(a.Lse, i, row)
		a.RowLoss.Set(i, crossEntropy(label, row, lse))
		setClasses(a.Probs, a.LogProb, i, row, lse)
	}
	return nil
}

// ForwardLoss sums the loss of all rows.
func (CategoricalCrossentropy[T]) ForwardLoss(_ *op.Ctx, a *cce.Forward[T], _ op.Range) error {
	setLoss(a.Loss, a.RowLoss, cceScale(&a.Attrs, &a.Dims))
	return nil
}

// Backward computes rows of the gradient: of the loss by the logarithm of probabilities, it is
// -scale*label.
func (CategoricalCrossentropy[T]) Backward(_ *op.Ctx, a *cce.Backward[T], r op.Range) error {
	scale := float64(a.GradLoss.At(0)) * cceScale(&a.Attrs, &a.Dims)
	for i := r.Lo; i < r.Hi; i++ {
		label := a.Label.Lane(i)
		putClasses(a.GradLogit.Lane(i), a.Logit.Lane(i), keptLogSumExp(a.Lse, i), a.GradProbs, a.GradLogProb, i, func(k int) float64 {
			return -scale * float64(label.At(k))
		})
	}
	return nil
}
