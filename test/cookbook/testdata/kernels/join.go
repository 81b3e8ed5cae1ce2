package kernels

import (
	"example.com/cookbook/generated/join"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Join is the kernel of join.
type Join[T dtype.Float] struct{}

// Forward copies the rows one behind the other.
func (Join[T]) Forward(_ *op.Ctx, a *join.Forward[T], _ op.Range) error {
	at := 0
	for i, row := range a.Input {
		a.Begin.Set(i, int64(at))
		for k := range row.Len() {
			a.Output.Set(at, row.At(k))
			at++
		}
	}
	return nil
}

// Backward copies the gradients back.
func (Join[T]) Backward(_ *op.Ctx, a *join.Backward[T], _ op.Range) error {
	at := 0
	for _, grad := range a.GradInput {
		for k := range grad.Len() {
			grad.Put(k, a.GradOutput.At(at))
			at++
		}
	}
	return nil
}
