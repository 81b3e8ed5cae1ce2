package kernels

import (
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Sgd is the kernel of sgd.
type Sgd[T dtype.Float] struct{}

// Update updates elements of the weight.
func (Sgd[T]) Update(_ *op.Ctx, a *sgd.Update[T], r op.Range) error {
	at := &a.Attrs
	v, hasV := a.SgdV.Get()
	lr, momentum, decay := T(at.Lr), T(at.Momentum), T(at.WeightDecay)
	for i := r.Lo; i < r.Hi; i++ {
		w := a.Weight.At(i)
		step := a.Grad.At(i) + decay*w
		if hasV {
			u := momentum*v.At(i) + step
			v.Set(i, u)
			if at.Nesterov {
				step += momentum * u
			} else {
				step = u
			}
		}
		a.Weight.Set(i, w-lr*step)
	}
	return nil
}
