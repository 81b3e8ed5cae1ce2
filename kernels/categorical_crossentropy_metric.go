package kernels

import (
	metric "github.com/opgen/opgen/generated/categoricalcrossentropymetric"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// CategoricalCrossentropyMetric is the kernel of categorical_crossentropy_metric.
type CategoricalCrossentropyMetric[T dtype.Float] struct{}

// ForwardRows computes the cross entropy of rows.
func (CategoricalCrossentropyMetric[T]) ForwardRows(_ *task.Ctx, a *metric.Forward[T], r task.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		row := a.Logit.Lane(i)
		a.RowLoss.Set(i, crossEntropy(a.Label.Lane(i), row, logSumExp(row, a.Attrs.FromLogits)))
	}
	return nil
}

// ForwardSum sums that of all rows.
func (CategoricalCrossentropyMetric[T]) ForwardSum(_ *task.Ctx, a *metric.Forward[T], _ task.Range) error {
	setLoss(a.Total, a.RowLoss, 1)
	return nil
}
