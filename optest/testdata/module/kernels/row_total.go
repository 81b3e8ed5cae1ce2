package kernels

import (
	"example.com/module/generated/rowtotal"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// RowTotal is the kernel of row_total.
type RowTotal[T dtype.Float] struct{}

// ForwardRows computes rows r.Lo to r.Hi-1.
func (RowTotal[T]) ForwardRows(_ *op.Ctx, a *rowtotal.Forward[T], r op.Range) error {
	for i := r.Lo * a.Dims.K; i < r.Hi*a.Dims.K; i++ {
		a.Output.Set(i, 2*a.Input.At(i))
	}
	return nil
}

// ForwardTotal adds up all elements of the output.
func (RowTotal[T]) ForwardTotal(_ *op.Ctx, a *rowtotal.Forward[T], _ op.Range) error {
	sum := 0.0
	for i := range a.Output.Len() {
		sum += float64(a.Output.At(i))
	}
	if total, ok := a.Total.Get(); ok {
		total.Set(0, T(sum))
	}
	return nil
}
