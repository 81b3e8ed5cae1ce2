package kernels

import (
	"math"

	"example.com/attention/generated/spread"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Spread is the kernel of spread.
type Spread[T dtype.Float] struct{}

// Forward sets elements to fractions of multiples of the golden ratio.
func (Spread[T]) Forward(_ *op.Ctx, a *spread.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		_, f := math.Modf(float64(i+1) * math.Phi)
		a.Tensor.Set(i, T(a.Attrs.Scale*(2*f-1)))
	}
	return nil
}
