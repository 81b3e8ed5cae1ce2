package kernels

import (
	metric "github.com/opgen/opgen/generated/sparsecategoricalcrossentropymetric"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// SparseCategoricalCrossentropyMetric is the kernel of sparse_categorical_crossentropy_metric.
type SparseCategoricalCrossentropyMetric[T dtype.Float, L dtype.Index] struct{}

// ForwardRows computes the cross entropy of rows.
func (SparseCategoricalCrossentropyMetric[T, L]) ForwardRows(_ *op.Ctx, a *metric.Forward[T, L], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		row := a.Logit.Lane(i)
		class, err := classOf(a.Label, i, row.Len())
		if err != nil {
			return err
		}
		a.RowLoss.Set(i, nll(row, class, logSumExp(row, a.Attrs.FromLogits)))
	}
	return nil
}

// ForwardSum sums the cross entropy of all rows.
func (SparseCategoricalCrossentropyMetric[T, L]) ForwardSum(_ *op.Ctx, a *metric.Forward[T, L], _ op.Range) error {
	setLoss(a.Total, a.RowLoss, 1)
	return nil
}
