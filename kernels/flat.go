package kernels

import (
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Flat is the kernel of flat: elements keep their order.
type Flat[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements.
func (Flat[T]) Forward(_ *op.Ctx, a *flat.Forward[T], r op.Range) error {
	vec.Copy(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// FlatBackward is the kernel of flat's backward.
type FlatBackward[T dtype.Float] struct{}

// Backward copies elements of the gradient.
func (FlatBackward[T]) Backward(_ *op.Ctx, a *flat.Backward[T], r op.Range) error {
	vec.Put(a.GradInput.Span(r.Lo, r.Hi), a.GradOutput.Span(r.Lo, r.Hi))
	return nil
}
