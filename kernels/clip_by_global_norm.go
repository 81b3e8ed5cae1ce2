package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/clipbyglobalnorm"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// ClipByGlobalNorm is the kernel of clip_by_global_norm. It adds up in float64, one tensor after the other,
// so the norm does not depend on the number of workers.
type ClipByGlobalNorm[T dtype.Float] struct{}

// ForwardSquares adds up the squares of the elements of some tensors.
func (ClipByGlobalNorm[T]) ForwardSquares(_ *op.Ctx, a *clipbyglobalnorm.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		sum := 0.0
		for k := range a.Input[i].Len() {
			x := float64(a.Input[i].At(k))
			sum += float64(x * x)
		}
		a.Squares.Set(i, sum)
	}
	return nil
}

// ForwardNorm adds up the sums of all tensors.
func (ClipByGlobalNorm[T]) ForwardNorm(_ *op.Ctx, a *clipbyglobalnorm.Forward[T], _ op.Range) error {
	a.Norm.Set(0, T(normOf(a.Squares)))
	return nil
}

// normOf returns the norm of tensors with these sums of squares.
func normOf(squares tensor.RW[float64]) float64 {
	sum := 0.0
	for i := range squares.Len() {
		sum += squares.At(i)
	}
	return math.Sqrt(sum)
}

// ForwardScale scales a share of the tensors' elements. The factor follows from the sums, since a norm may
// exceed the range of T where its factor does not.
func (ClipByGlobalNorm[T]) ForwardScale(_ *op.Ctx, a *clipbyglobalnorm.Forward[T], r op.Range) error {
	factor := 1.0
	if norm := normOf(a.Squares); !(norm <= a.Attrs.Limit) { // a NaN in one tensor makes all tensors NaN
		factor = a.Attrs.Limit / norm
	}
	for i := r.Lo; i < r.Hi; i++ {
		for k := range a.Input[i].Len() {
			a.Output[i].Set(k, T(factor*float64(a.Input[i].At(k))))
		}
	}
	return nil
}
