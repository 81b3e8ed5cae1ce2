package kernels

import (
	"github.com/opgen/opgen/generated/unsqueeze"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/vec"
)

// Unsqueeze is the kernel of unsqueeze.
type Unsqueeze[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements.
func (Unsqueeze[T]) Forward(_ *task.Ctx, a *unsqueeze.Forward[T], r task.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// UnsqueezeBackward is the kernel of unsqueeze's backward.
type UnsqueezeBackward[T dtype.Float] struct{}

// Backward passes the gradient on.
func (UnsqueezeBackward[T]) Backward(_ *task.Ctx, a *unsqueeze.Backward[T], r task.Range) error {
	vec.Put(a.GradInput.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
