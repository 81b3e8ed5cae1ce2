package kernels

import (
	metric "github.com/opgen/opgen/generated/categoricalcrossentropymetric"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// CategoricalCrossentropyMetric is the kernel of categorical_crossentropy_metric.
type CategoricalCrossentropyMetric[T dtype.Float] struct{}

// ForwardRows computes the cross entropy of rows.
func (CategoricalCrossentropyMetric[T]) ForwardRows(_ *op.Ctx, a *metric.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		row := a.Logit.Lane(i)
		a.RowLoss.Set(i, crossEntropy(a.Label.Lane(i), row, logSumExp(row, a.Attrs.FromLogits)))
	}
	return nil
}

// ForwardSum sums the cross entropy of all rows.
func (CategoricalCrossentropyMetric[T]) ForwardSum(_ *op.Ctx, a *metric.Forward[T], _ op.Range) error {
	setLoss(a.Total, a.RowLoss, 1)
	return nil
}
