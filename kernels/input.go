package kernels

import (
	"github.com/opgen/opgen/generated/input"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Input is the kernel of input.
type Input[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements.
func (Input[T]) Forward(_ *op.Ctx, a *input.Forward[T], r op.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// InputBackward is the kernel of input's backward.
type InputBackward[T dtype.Float] struct{}

// Backward copies elements of the gradient.
func (InputBackward[T]) Backward(_ *op.Ctx, a *input.Backward[T], r op.Range) error {
	vec.Put(a.GradInput.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
