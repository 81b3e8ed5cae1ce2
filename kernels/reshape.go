package kernels

import (
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Reshape is the kernel of reshape.
type Reshape[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements.
func (Reshape[T]) Forward(_ *op.Ctx, a *reshape.Forward[T], r op.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// ReshapeBackward is the kernel of reshape's backward.
type ReshapeBackward[T dtype.Float] struct{}

// Backward copies elements of the gradient.
func (ReshapeBackward[T]) Backward(_ *op.Ctx, a *reshape.Backward[T], r op.Range) error {
	vec.Put(a.GradInput.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
