// Package kernels has the kernels that are written by hand.
package kernels

import (
	"example.com/cookbook/generated/activitypenalty"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// ActivityPenalty is the kernel of activity_penalty.
type ActivityPenalty[T dtype.Float] struct{}

// Forward copies the input and adds up its squares.
func (ActivityPenalty[T]) Forward(_ *op.Ctx, a *activitypenalty.Forward[T], _ op.Range) error {
	var sum float64
	for i := range a.Input.Len() {
		x := a.Input.At(i)
		a.Output.Set(i, x)
		sum += float64(x) * float64(x)
	}
	a.Penalty.Set(0, T(a.Attrs.Factor*sum/float64(max(a.Input.Len(), 1))))
	return nil
}

// Backward computes elements r.Lo to r.Hi-1 of the gradient.
func (ActivityPenalty[T]) Backward(_ *op.Ctx, a *activitypenalty.Backward[T], r op.Range) error {
	scale := 2 * a.Attrs.Factor / float64(max(a.Input.Len(), 1)) * float64(a.GradPenalty.At(0))
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, a.GradOutput.At(i)+T(scale*float64(a.Input.At(i))))
	}
	return nil
}
