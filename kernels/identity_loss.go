package kernels

import (
	"github.com/opgen/opgen/generated/identityloss"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// IdentityLoss is the kernel of identity_loss.
type IdentityLoss[T dtype.Float] struct{}

func identityScale(at *identityloss.Attrs, d *identityloss.Dims) float64 {
	n := d.B
	if at.Reduction == identityloss.ReductionMean {
		n *= shape.Prod(d.N)
	}
	return lossScale(at.ScaleFactor, at.Reduction == identityloss.ReductionSum, n)
}

// ForwardRows sums the elements of each index of the first dimension.
func (IdentityLoss[T]) ForwardRows(_ *op.Ctx, a *identityloss.Forward[T], r op.Range) error {
	n := shape.Prod(a.Dims.N)
	for i := r.Lo; i < r.Hi; i++ {
		a.RowLoss.Set(i, vec.Total(a.Logit.Span(i*n, (i+1)*n)))
	}
	return nil
}

// ForwardLoss adds up these sums.
func (IdentityLoss[T]) ForwardLoss(_ *op.Ctx, a *identityloss.Forward[T], _ op.Range) error {
	setLoss(a.Loss, a.RowLoss, identityScale(&a.Attrs, &a.Dims))
	return nil
}

// Backward spreads the gradient over elements.
func (IdentityLoss[T]) Backward(_ *op.Ctx, a *identityloss.Backward[T], r op.Range) error {
	g := T(float64(a.GradLoss.At(0)) * identityScale(&a.Attrs, &a.Dims))
	for i := r.Lo; i < r.Hi; i++ {
		a.GradLogit.Put(i, g)
	}
	return nil
}
