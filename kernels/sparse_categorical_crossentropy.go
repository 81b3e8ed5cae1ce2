package kernels

import (
	"fmt"
	"math"

	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// SparseCategoricalCrossentropy is the kernel of sparse_categorical_crossentropy.
type SparseCategoricalCrossentropy[T dtype.Float, L dtype.Index] struct{}

// scceScale returns the factor from the sum over rows to the loss.
func scceScale(at *scce.Attrs, d *scce.Dims) float64 {
	if s, ok := at.ScaleFactor.Get(); ok {
		return s
	}
	if at.Reduction == scce.ReductionSum {
		return 1
	}
	return 1 / float64(max(shape.Prod(d.N), 1))
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
func (SparseCategoricalCrossentropy[T, L]) ForwardRows(_ *task.Ctx, a *scce.Forward[T, L], r task.Range) error {
	probs, wantProbs := a.Probs.Get()
	logs, wantLogs := a.LogProb.Get()
	for i := r.Lo; i < r.Hi; i++ {
		row := a.Logit.Lane(i)
		class, err := classOf(a.Label, i, row.Len())
		if err != nil {
			return err
		}
		lse := vec.LogSumExp(row)
		a.Lse.Set(i, lse)
		a.RowLoss.Set(i, lse-row.At(class))
		if wantProbs {
			vec.ExpNorm(probs.Lane(i), row)
		}
		if wantLogs {
			for k := range row.Len() {
				logs.Lane(i).Set(k, row.At(k)-lse)
			}
		}
	}
	return nil
}

// ForwardLoss sums the loss of all rows, in their order.
func (SparseCategoricalCrossentropy[T, L]) ForwardLoss(_ *task.Ctx, a *scce.Forward[T, L], _ task.Range) error {
	var sum float64
	for i := range a.RowLoss.Len() {
		sum += float64(a.RowLoss.At(i))
	}
	a.Loss.Set(0, T(sum*scceScale(&a.Attrs, &a.Dims)))
	return nil
}

// Backward computes, for rows with p = softmax(logit), the gradient through the loss, which is
// (p - onehot(label)) * scale, and that through probs and log_prob if they were asked for.
func (SparseCategoricalCrossentropy[T, L]) Backward(_ *task.Ctx, a *scce.Backward[T, L], r task.Range) error {
	scale := float64(a.GradLoss.At(0)) * scceScale(&a.Attrs, &a.Dims)
	gradProbs, hasProbs := a.GradProbs.Get()
	gradLogs, hasLogs := a.GradLogProb.Get()
	for i := r.Lo; i < r.Hi; i++ {
		row, to := a.Logit.Lane(i), a.GradLogit.Lane(i)
		class, err := classOf(a.Label, i, row.Len())
		if err != nil {
			return err
		}
		lse := float64(a.Lse.At(i))
		p := func(k int) float64 { return math.Exp(float64(row.At(k)) - lse) }
		var mean, total float64 // of the gradients of probs, weighted by p; of those of log_prob
		if hasProbs {
			for k := range row.Len() {
				mean += p(k) * float64(gradProbs.Lane(i).At(k))
			}
		}
		if hasLogs {
			for k := range row.Len() {
				total += float64(gradLogs.Lane(i).At(k))
			}
		}
		for k := range row.Len() {
			pk := p(k)
			g := pk * scale
			if k == class {
				g = (pk - 1) * scale
			}
			if hasProbs {
				g += pk * (float64(gradProbs.Lane(i).At(k)) - mean)
			}
			if hasLogs {
				g += float64(gradLogs.Lane(i).At(k)) - pk*total
			}
			to.Put(k, T(g))
		}
	}
	return nil
}
