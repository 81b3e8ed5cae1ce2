package kernels

import (
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Weight is the kernel of weight.
type Weight[T dtype.Float] struct{}

// Forward copies elements.
func (Weight[T]) Forward(_ *op.Ctx, a *weight.Forward[T], r op.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Weight.Span(r.Lo, r.Hi))
	return nil
}

// Backward copies elements of the gradient.
func (Weight[T]) Backward(_ *op.Ctx, a *weight.Backward[T], r op.Range) error {
	vec.Put(a.GradWeight.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
