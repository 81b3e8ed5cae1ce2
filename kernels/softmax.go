package kernels

import (
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Softmax is the kernel of softmax. Lanes run along the normalized dimension.
type Softmax[T dtype.Float] struct{}

// Forward normalizes lanes.
func (Softmax[T]) Forward(_ *op.Ctx, a *softmax.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		vec.ExpNorm(a.Output.Lane(i), a.Input.Lane(i))
	}
	return nil
}

// Backward computes y * (gy - <y, gy>) for lanes.
func (Softmax[T]) Backward(_ *op.Ctx, a *softmax.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		vec.ExpNormGrad(a.Output.Lane(i), a.GradOutput.Lane(i), a.GradInput.Lane(i).Put)
	}
	return nil
}
