package kernels

import (
	"github.com/opgen/opgen/generated/noop"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Noop is the kernel of noop.
type Noop[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements.
func (Noop[T]) Forward(_ *op.Ctx, a *noop.Forward[T], r op.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// NoopBackward is the kernel of noop's backward.
type NoopBackward[T dtype.Float] struct{}

// Backward copies elements of the gradient.
func (NoopBackward[T]) Backward(_ *op.Ctx, a *noop.Backward[T], r op.Range) error {
	vec.Put(a.GradInput.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
