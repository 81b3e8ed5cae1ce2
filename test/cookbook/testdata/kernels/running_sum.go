package kernels

import (
	"example.com/cookbook/generated/runningsum"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// RunningSum is the kernel of running_sum.
type RunningSum[T dtype.Float] struct{}

// Forward adds up lanes r.Lo to r.Hi-1.
func (RunningSum[T]) Forward(_ *op.Ctx, a *runningsum.Forward[T], r op.Range) error {
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

// Backward adds up the gradients of lanes r.Lo to r.Hi-1 from the end.
func (RunningSum[T]) Backward(_ *op.Ctx, a *runningsum.Backward[T], r op.Range) error {
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
