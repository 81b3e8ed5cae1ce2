package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Adam is the kernel of adam.
type Adam[T dtype.Float] struct{}

// Update updates elements of the weight.
func (Adam[T]) Update(ctx *op.Ctx, a *adam.Update[T], r op.Range) error {
	at := &a.Attrs
	m := moments[T]{m: a.AdamM, v: a.AdamV, beta1: at.Beta1, beta2: at.Beta2, epsilon: at.Epsilon}
	meanBias, squareBias := m.biases(a.Iteration(ctx))
	step := at.Alpha / meanBias
	if alpha, ok := at.AlphaT.Get(); ok {
		step, squareBias = alpha, 1
	}
	for i := r.Lo; i < r.Hi; i++ {
		w := float64(a.Weight.At(i))
		g := float64(a.Grad.At(i)) + at.WeightDecay*w
		a.Weight.Set(i, T(w-step*m.direction(i, g, squareBias)))
	}
	return nil
}

// moments are the running means of the gradient and of its square that Adam and AdamW keep.
type moments[T dtype.Float] struct {
	m, v                  tensor.RW[T]
	beta1, beta2, epsilon float64
}

// biases returns the divisors that correct the means after some steps, since they begin as 0.
func (s *moments[T]) biases(iteration int) (mean, square float64) {
	t := float64(iteration + 1)
	return 1 - math.Pow(s.beta1, t), 1 - math.Pow(s.beta2, t)
}

// direction updates the means with a gradient. It returns the mean divided by the root of the mean of squares, whose bias
// is corrected.
func (s *moments[T]) direction(i int, g, squareBias float64) float64 {
	m := s.beta1*float64(s.m.At(i)) + (1-s.beta1)*g
	v := s.beta2*float64(s.v.At(i)) + (1-s.beta2)*g*g
	s.m.Set(i, T(m))
	s.v.Set(i, T(v))
	return m / (math.Sqrt(v/squareBias) + s.epsilon)
}
