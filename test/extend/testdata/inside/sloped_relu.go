package kernels

import (
	"github.com/opgen/opgen/generated/slopedrelu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// SlopedRelu is the kernel of sloped_relu.
type SlopedRelu[T dtype.Float] struct{}

// Forward computes the channels r.Lo to r.Hi-1, counted over all images.
func (SlopedRelu[T]) Forward(_ *op.Ctx, a *slopedrelu.Forward[T], r op.Range) error {
	n := shape.Prod(a.Dims.X)
	for i := r.Lo; i < r.Hi; i++ {
		slope := T(a.Attrs.Slope) + a.Weight.At(i%a.Dims.C)
		for k := i * n; k < (i+1)*n; k++ {
			x := a.Input.At(k)
			if x < 0 {
				x *= slope
			}
			a.Output.Set(k, x)
		}
	}
	return nil
}

// BackwardInput computes the gradient of the same channels.
func (SlopedRelu[T]) BackwardInput(_ *op.Ctx, a *slopedrelu.Backward[T], r op.Range) error {
	n := shape.Prod(a.Dims.X)
	for i := r.Lo; i < r.Hi; i++ {
		slope := T(a.Attrs.Slope) + a.Weight.At(i%a.Dims.C)
		for k := i * n; k < (i+1)*n; k++ {
			g := a.GradOutput.At(k)
			if a.Input.At(k) < 0 {
				g *= slope
			}
			a.GradInput.Put(k, g)
		}
	}
	return nil
}

// BackwardWeight computes the gradients of slopes r.Lo to r.Hi-1.
func (SlopedRelu[T]) BackwardWeight(_ *op.Ctx, a *slopedrelu.Backward[T], r op.Range) error {
	n := shape.Prod(a.Dims.X)
	for c := r.Lo; c < r.Hi; c++ {
		var sum T
		for i := c; i < a.Dims.N*a.Dims.C; i += a.Dims.C {
			for k := i * n; k < (i+1)*n; k++ {
				if x := a.Input.At(k); x < 0 {
					sum += a.GradOutput.At(k) * x
				}
			}
		}
		a.GradWeight.Put(c, sum)
	}
	return nil
}
