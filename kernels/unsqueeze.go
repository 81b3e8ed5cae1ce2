package kernels

import (
	"github.com/opgen/opgen/generated/unsqueeze"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Unsqueeze is the kernel of unsqueeze.
type Unsqueeze[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements.
func (Unsqueeze[T]) Forward(_ *op.Ctx, a *unsqueeze.Forward[T], r op.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// UnsqueezeBackward is the kernel of unsqueeze's backward.
type UnsqueezeBackward[T dtype.Float] struct{}

// Backward copies elements of the gradient.
func (UnsqueezeBackward[T]) Backward(_ *op.Ctx, a *unsqueeze.Backward[T], r op.Range) error {
	vec.Put(a.GradInput.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
