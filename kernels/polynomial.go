package kernels

import (
	"slices"

	"github.com/opgen/opgen/generated/polynomial"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Polynomial is the kernel of polynomial. By Horner's rule each coefficient takes a product and a sum, where
// the formula takes a power. It computes in float64.
type Polynomial[T dtype.Float] struct{}

// Forward computes elements of output.
func (Polynomial[T]) Forward(_ *op.Ctx, a *polynomial.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, T(horner(a.Coefficient, float64(a.Input.At(i))-a.Center)))
	}
	return nil
}

// Backward computes elements of the gradient of input: the derivative of the polynomial, times the gradient
// of output.
func (Polynomial[T]) Backward(_ *op.Ctx, a *polynomial.Backward[T], r op.Range) error {
	slope := make([]float64, len(a.Coefficient)-1)
	for k := range slope {
		slope[k] = float64(k+1) * a.Coefficient[k+1]
	}
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, T(horner(slope, float64(a.Input.At(i))-a.Center)*float64(a.GradOutput.At(i))))
	}
	return nil
}

// horner returns the value of a polynomial. It begins with the last coefficient rather than with 0, since 0
// times infinity is no number.
func horner(coefficients []float64, x float64) float64 {
	last := len(coefficients) - 1
	if last < 0 {
		return 0
	}
	y := coefficients[last]
	for _, c := range slices.Backward(coefficients[:last]) {
		y = float64(y*x) + c
	}
	return y
}
