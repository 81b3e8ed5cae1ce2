package kernels

import (
	"github.com/opgen/opgen/generated/cast"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Cast is the kernel of cast.
type Cast[T, U dtype.Float | dtype.Index | bool] struct{}

// Forward converts elements.
func (Cast[T, U]) Forward(_ *op.Ctx, a *cast.Forward[T, U], r op.Range) error {
	vec.Convert(a.Output.Span(r.Lo, r.Hi), a.Input.Span(r.Lo, r.Hi))
	return nil
}

// CastBackward is the kernel of cast's backward.
type CastBackward[T, U dtype.Float] struct{}

// Backward converts the gradient back.
func (CastBackward[T, U]) Backward(_ *op.Ctx, a *cast.Backward[T, U], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, T(a.GradOutput.At(i)))
	}
	return nil
}
