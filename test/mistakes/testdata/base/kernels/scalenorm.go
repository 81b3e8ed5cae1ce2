package kernels

import (
	"math"

	"example.com/mist/generated/scalenorm"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Scalenorm is the kernel of scalenorm.
type Scalenorm[T dtype.Float] struct{}

// Forward scales rows.
func (Scalenorm[T]) Forward(_ *op.Ctx, a *scalenorm.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		x, y := a.Input.Lane(i), a.Output.Lane(i)
		sum := a.Attrs.Eps
		for c := range x.Len() {
			sum += float64(x.At(c)) * float64(x.At(c))
		}
		s := T(1 / math.Sqrt(sum))
		a.Scale.Set(i, s)
		for c := range x.Len() {
			y.Set(c, x.At(c)*s*a.Gamma.At(c))
		}
	}
	return nil
}

// BackwardInput computes the gradient of rows.
func (Scalenorm[T]) BackwardInput(_ *op.Ctx, a *scalenorm.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		x, g, s := a.Input.Lane(i), a.GradOutput.Lane(i), a.Scale.At(i)
		var dot T
		for c := range x.Len() {
			dot += g.At(c) * a.Gamma.At(c) * x.At(c)
		}
		for c := range x.Len() {
			a.GradInput.Lane(i).Put(c, s*(g.At(c)*a.Gamma.At(c)-s*s*dot*x.At(c)))
		}
	}
	return nil
}

// BackwardWeights computes the gradient of gamma.
func (Scalenorm[T]) BackwardWeights(_ *op.Ctx, a *scalenorm.Backward[T], r op.Range) error {
	for c := r.Lo; c < r.Hi; c++ {
		var sum T
		for i := range a.Scale.Len() {
			sum += a.GradOutput.Lane(i).At(c) * a.Input.Lane(i).At(c) * a.Scale.At(i)
		}
		a.GradGamma.Put(c, sum)
	}
	return nil
}
