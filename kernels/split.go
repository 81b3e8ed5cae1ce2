package kernels

import (
	"github.com/opgen/opgen/generated/split"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// Split is the kernel of split.
type Split[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements of the input to the outputs.
func (Split[T]) Forward(_ *op.Ctx, a *split.Forward[T], r op.Range) error {
	pieces(a.Attrs.Splits.Values(), shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Copy(a.Output[k].Span(from, from+n), a.Input.Span(at, at+n))
	})
	return nil
}

// SplitBackward is the kernel of split's backward.
type SplitBackward[T dtype.Float] struct{}

// Backward copies the gradients of the outputs to the gradient of the input, by elements.
func (SplitBackward[T]) Backward(_ *op.Ctx, a *split.Backward[T], r op.Range) error {
	pieces(a.Attrs.Splits.Values(), shape.Prod(a.Dims.B), r.Lo, r.Hi, func(k, from, at, n int) {
		vec.Put(a.GradInput.Span(at, at+n), a.GradOutput[k].Span(from, from+n))
	})
	return nil
}
