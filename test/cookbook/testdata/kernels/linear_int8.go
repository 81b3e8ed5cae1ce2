package kernels

import (
	"example.com/cookbook/generated/linearint8"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// LinearInt8 is the kernel of linear_int8.
type LinearInt8[T dtype.Float] struct{}

// Forward computes rows r.Lo to r.Hi-1 of the output.
func (LinearInt8[T]) Forward(_ *op.Ctx, a *linearint8.Forward[T], r op.Range) error {
	k, size := a.Dims.K, a.Attrs.Size
	for n := r.Lo; n < r.Hi; n++ {
		for o := range size {
			var sum float64
			for i := range k {
				sum += float64(a.Input.At(n*k+i)) * float64(a.Weight.At(o*k+i))
			}
			a.Output.Set(n*size+o, T(float64(a.Scale.At(o))*sum))
		}
	}
	return nil
}
