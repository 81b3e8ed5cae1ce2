package kernels

import (
	"example.com/module/generated/runningtotal"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// RunningTotal is the kernel of running_total.
type RunningTotal[T dtype.Float] struct{}

// Forward computes elements r.Lo to r.Hi-1.
func (RunningTotal[T]) Forward(_ *op.Ctx, a *runningtotal.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		total := a.Total.At(i) + a.Input.At(i)
		a.Total.Set(i, total)
		a.Output.Set(i, total)
	}
	return nil
}

// Backward computes elements r.Lo to r.Hi-1 of the gradient.
func (RunningTotal[T]) Backward(_ *op.Ctx, a *runningtotal.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, a.GradOutput.At(i))
	}
	return nil
}
