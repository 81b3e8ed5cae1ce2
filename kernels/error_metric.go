package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/errormetric"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// ErrorMetric is the kernel of error_metric.
type ErrorMetric[T dtype.Float] struct{}

// ForwardRows computes the error of rows.
func (ErrorMetric[T]) ForwardRows(_ *op.Ctx, a *errormetric.Forward[T], r op.Range) error {
	n := float64(max(a.Dims.K, 1))
	for i := r.Lo; i < r.Hi; i++ {
		x, y := a.Logit.Lane(i), a.Label.Lane(i)
		var e float64
		switch a.Attrs.Metric {
		case errormetric.MetricMeanSquaredError:
			e = vec.SquaredDistance(x, y) / n
		case errormetric.MetricRootMeanSquaredError:
			e = math.Sqrt(vec.SquaredDistance(x, y) / n)
		case errormetric.MetricMeanAbsoluteError:
			e = vec.AbsDistance(x, y) / n
		}
		a.RowError.Set(i, e)
	}
	return nil
}

// ForwardSum sums the errors of all rows.
func (ErrorMetric[T]) ForwardSum(_ *op.Ctx, a *errormetric.Forward[T], _ op.Range) error {
	setLoss(a.Total, a.RowError, 1)
	return nil
}
