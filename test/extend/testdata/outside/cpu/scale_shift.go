package cpu

import (
	"example.com/outside/ops/scaleshift"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// ScaleShift is the kernel of scale_shift.
type ScaleShift[T dtype.Float] struct{}

// Forward computes rows r.Lo to r.Hi-1.
func (ScaleShift[T]) Forward(_ *op.Ctx, a *scaleshift.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		in, out := a.Input.Lane(i), a.Output.Lane(i)
		for c := range in.Len() {
			out.Set(c, in.At(c)*a.Scale.At(c)+a.Shift.At(c))
		}
	}
	return nil
}

// BackwardInput computes rows r.Lo to r.Hi-1 of the gradient of input.
func (ScaleShift[T]) BackwardInput(_ *op.Ctx, a *scaleshift.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		out := a.GradOutput.Lane(i)
		for c := range out.Len() {
			a.GradInput.Lane(i).Put(c, out.At(c)*a.Scale.At(c))
		}
	}
	return nil
}

// BackwardWeights computes elements r.Lo to r.Hi-1 of the gradients of scale and shift.
func (ScaleShift[T]) BackwardWeights(_ *op.Ctx, a *scaleshift.Backward[T], r op.Range) error {
	for c := r.Lo; c < r.Hi; c++ {
		var scale, shift T
		for i := c; i < a.Input.Len(); i += a.Dims.C {
			scale += a.GradOutput.At(i) * a.Input.At(i)
			shift += a.GradOutput.At(i)
		}
		a.GradScale.Put(c, scale)
		a.GradShift.Put(c, shift)
	}
	return nil
}
