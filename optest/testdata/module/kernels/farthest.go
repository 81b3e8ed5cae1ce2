package kernels

import (
	"example.com/module/generated/farthest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Farthest is the kernel of farthest.
type Farthest[T dtype.Float | dtype.Index] struct{}

// Forward folds elements r.Lo to r.Hi-1.
func (Farthest[T]) Forward(_ *op.Ctx, a *farthest.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		x := a.Input.At(i)
		a.Output.Fold(0, x)
		if x < 0 {
			a.Below.Fold(0, 1)
		}
	}
	return nil
}
