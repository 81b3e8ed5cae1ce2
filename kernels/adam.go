package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Adam is the kernel of adam.
type Adam[T dtype.Float] struct{}

// Update updates elements of the weight.
func (Adam[T]) Update(ctx *task.Ctx, a *adam.Update[T], r task.Range) error {
	at := &a.Attrs
	t := float64(a.Iteration(ctx) + 1)
	step, correction := at.Alpha/(1-math.Pow(at.Beta1, t)), 1/(1-math.Pow(at.Beta2, t))
	if alpha, ok := at.AlphaT.Get(); ok {
		step, correction = alpha, 1
	}
	for i := r.Lo; i < r.Hi; i++ {
		w := float64(a.Weight.At(i))
		g := float64(a.Grad.At(i)) + at.WeightDecay*w
		m := at.Beta1*float64(a.AdamM.At(i)) + (1-at.Beta1)*g
		v := at.Beta2*float64(a.AdamV.At(i)) + (1-at.Beta2)*g*g
		a.AdamM.Set(i, T(m))
		a.AdamV.Set(i, T(v))
		a.Weight.Set(i, T(w-step*m/(math.Sqrt(v*correction)+at.Epsilon)))
	}
	return nil
}
