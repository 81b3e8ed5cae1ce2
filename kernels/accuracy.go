package kernels

import (
	"github.com/opgen/opgen/generated/accuracy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Accuracy is the kernel of accuracy.
type Accuracy[T dtype.Float, L dtype.Index] struct{}

// ForwardRows sets, for rows, whether the answer is right.
func (Accuracy[T, L]) ForwardRows(_ *op.Ctx, a *accuracy.Forward[T, L], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		class, err := classOf(a.Label, i, a.Dims.K)
		if err != nil {
			return err
		}
		a.Hit.Set(i, vec.ArgMax(a.Logit.Lane(i)) == class)
	}
	return nil
}

// ForwardCount counts the right answers of all rows.
func (Accuracy[T, L]) ForwardCount(_ *op.Ctx, a *accuracy.Forward[T, L], _ op.Range) error {
	var n int32
	for i := range a.Hit.Len() {
		if a.Hit.At(i) {
			n++
		}
	}
	a.Correct.Set(0, n)
	return nil
}
