package kernels

import (
	"fmt"

	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// SparseCategoricalCrossentropy is the kernel of sparse_categorical_crossentropy.
type SparseCategoricalCrossentropy[T dtype.Float, L dtype.Index] struct{}

func scceScale(at *scce.Attrs, d *scce.Dims) float64 {
	return lossScale(at.ScaleFactor, at.Reduction == scce.ReductionSum, shape.Prod(d.N))
}

// classOf returns the label of a row, which must be a class.
func classOf[L dtype.Index](label tensor.RO[L], row, classes int) (int, error) {
	c := int(label.At(row))
	if c < 0 || c >= classes {
		return 0, fmt.Errorf("slot label, row %d: want a class from 0 to %d, got %d", row, classes-1, c)
	}
	return c, nil
}

// ForwardRows computes the loss of rows.
func (SparseCategoricalCrossentropy[T, L]) ForwardRows(_ *op.Ctx, a *scce.Forward[T, L], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		row := a.Logit.Lane(i)
		class, err := classOf(a.Label, i, row.Len())
		if err != nil {
			return err
		}
		lse := keepLogSumExp(a.Lse, i, row)
		a.RowLoss.Set(i, nll(row, class, lse))
		setClasses(a.Probs, a.LogProb, i, row, lse)
	}
	return nil
}

// ForwardLoss sums the loss of all rows.
func (SparseCategoricalCrossentropy[T, L]) ForwardLoss(_ *op.Ctx, a *scce.Forward[T, L], _ op.Range) error {
	setLoss(a.Loss, a.RowLoss, scceScale(&a.Attrs, &a.Dims))
	return nil
}

// Backward computes rows of the gradient: of the loss by the logarithm of probabilities, it is -scale at
// the label and 0 elsewhere.
func (SparseCategoricalCrossentropy[T, L]) Backward(_ *op.Ctx, a *scce.Backward[T, L], r op.Range) error {
	scale := float64(a.GradLoss.At(0)) * scceScale(&a.Attrs, &a.Dims)
	for i := r.Lo; i < r.Hi; i++ {
		row := a.Logit.Lane(i)
		class, err := classOf(a.Label, i, row.Len())
		if err != nil {
			return err
		}
		putClasses(a.GradLogit.Lane(i), row, keptLogSumExp(a.Lse, i), a.GradProbs, a.GradLogProb, i, func(k int) float64 {
			if k == class {
				return -scale
			}
			return 0
		})
	}
	return nil
}
