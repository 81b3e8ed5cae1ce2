package kernels

import (
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Adamw is the kernel of adamw.
type Adamw[T dtype.Float] struct{}

// Update updates elements of the weight.
func (Adamw[T]) Update(ctx *op.Ctx, a *adamw.Update[T], r op.Range) error {
	at := &a.Attrs
	m := moments[T]{m: a.AdamM, v: a.AdamV, beta1: at.Beta1, beta2: at.Beta2, epsilon: at.Epsilon}
	meanBias, squareBias := m.biases(a.Iteration(ctx))
	for i := r.Lo; i < r.Hi; i++ {
		w := float64(a.Weight.At(i))
		w -= at.Alpha * at.WeightDecay * w
		a.Weight.Set(i, T(w-at.Alpha/meanBias*m.direction(i, float64(a.Grad.At(i)), squareBias)))
	}
	return nil
}
