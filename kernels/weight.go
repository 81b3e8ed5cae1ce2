package kernels

import (
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/vec"
)

// Weight is the kernel of weight.
type Weight[T dtype.Float] struct{}

// Forward copies elements.
func (Weight[T]) Forward(_ *task.Ctx, a *weight.Forward[T], r task.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Weight.Span(r.Lo, r.Hi))
	return nil
}

// Backward passes the gradient on.
func (Weight[T]) Backward(_ *task.Ctx, a *weight.Backward[T], r task.Range) error {
	vec.Put(a.GradWeight.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
