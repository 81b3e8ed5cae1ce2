package kernels

import (
	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Reverse is the kernel of reverse. Lanes run along the reversed dimension.
type Reverse[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies lanes.
func (Reverse[T]) Forward(_ *op.Ctx, a *reverse.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		to, from := a.Output.Lane(i), a.Input.Lane(i)
		for k := range from.Len() {
			to.Set(k, from.At(from.Len()-1-k))
		}
	}
	return nil
}

// ReverseBackward is the kernel of reverse's backward.
type ReverseBackward[T dtype.Float] struct{}

// Backward copies lanes of the gradient.
func (ReverseBackward[T]) Backward(_ *op.Ctx, a *reverse.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		to, from := a.GradInput.Lane(i), a.GradOutput.Lane(i)
		for k := range from.Len() {
			to.Put(k, from.At(from.Len()-1-k))
		}
	}
	return nil
}
