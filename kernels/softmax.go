package kernels

import (
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/vec"
)

// Softmax is the kernel of softmax. Lanes run along the normalised dimension.
type Softmax[T dtype.Float] struct{}

// Forward normalises lanes.
func (Softmax[T]) Forward(_ *task.Ctx, a *softmax.Forward[T], r task.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		vec.ExpNorm(a.Output.Lane(i), a.Input.Lane(i))
	}
	return nil
}

// Backward computes y * (gy - <y, gy>) for lanes.
func (Softmax[T]) Backward(_ *task.Ctx, a *softmax.Backward[T], r task.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		vec.ExpNormGrad(a.Output.Lane(i), a.GradOutput.Lane(i), a.GradInput.Lane(i).Put)
	}
	return nil
}
