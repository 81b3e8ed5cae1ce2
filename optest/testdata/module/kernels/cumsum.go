// Package kernels computes the operators of this module.
package kernels

import (
	"example.com/module/generated/cumsum"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Cumsum is the kernel of cumsum.
type Cumsum[T dtype.Float] struct{}

// Forward computes lanes r.Lo to r.Hi-1.
func (Cumsum[T]) Forward(_ *op.Ctx, a *cumsum.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		in, out := a.Input.Lane(i), a.Output.Lane(i)
		var sum T
		for k := range in.Len() {
			sum += in.At(k)
			out.Set(k, sum)
		}
	}
	return nil
}

// Backward adds up the gradients from the end.
func (Cumsum[T]) Backward(_ *op.Ctx, a *cumsum.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		grad, to := a.GradOutput.Lane(i), a.GradInput.Lane(i)
		var sum T
		for k := grad.Len() - 1; k >= 0; k-- {
			sum += grad.At(k)
			to.Put(k, sum)
		}
	}
	return nil
}
