package kernels

import (
	"github.com/opgen/opgen/generated/squeeze"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Squeeze is the kernel of squeeze.
type Squeeze[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements.
func (Squeeze[T]) Forward(_ *op.Ctx, a *squeeze.Forward[T], r op.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// SqueezeBackward is the kernel of squeeze's backward.
type SqueezeBackward[T dtype.Float] struct{}

// Backward copies elements of the gradient.
func (SqueezeBackward[T]) Backward(_ *op.Ctx, a *squeeze.Backward[T], r op.Range) error {
	vec.Put(a.GradInput.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
