package kernels

import (
	"github.com/opgen/opgen/generated/regularizer"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Regularizer is the kernel of regularizer.
type Regularizer[T dtype.Float] struct{}

// regularizerPart is how many elements are summed at once.
const regularizerPart = 4096

// ForwardParts sums parts of the input.
func (Regularizer[T]) ForwardParts(_ *op.Ctx, a *regularizer.Forward[T], r op.Range) error {
	for p := r.Lo; p < r.Hi; p++ {
		lo := p * regularizerPart
		hi := min(lo+regularizerPart, a.Input.Len())
		a.Part.Set(p, penaltyOf(a.Attrs.Type, a.Input.Span(lo, hi)))
	}
	return nil
}

// ForwardTotal sums the parts.
func (Regularizer[T]) ForwardTotal(_ *op.Ctx, a *regularizer.Forward[T], _ op.Range) error {
	setLoss(a.Penalty, a.Part, a.Attrs.Lambda)
	return nil
}

// Backward computes the gradient of elements.
func (Regularizer[T]) Backward(_ *op.Ctx, a *regularizer.Backward[T], r op.Range) error {
	scale := a.GradPenalty.At(0) * T(a.Attrs.Lambda)
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, scale*penaltySlope(a.Attrs.Type, a.Input.At(i)))
	}
	return nil
}
