package kernels

import (
	"example.com/gather/generated/windows"

	"github.com/opgen/opgen/runtime/op"
)

// Windows is the kernel of windows. It has no type parameter, since the operator has one element type.
type Windows[T float64] struct{}

// Forward writes the number of windows everywhere.
func (Windows[T]) Forward(_ *op.Ctx, a *windows.Forward[T], _ op.Range) error {
	for i := range a.Output.Len() {
		a.Output.Set(i, T(a.Dims.COUNT))
	}
	return nil
}

// Backward writes nothing, since the number does not depend on the elements.
func (Windows[T]) Backward(_ *op.Ctx, a *windows.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, 0)
	}
	for i := range a.GradEdge.Len() {
		a.GradEdge.Put(i, 0)
	}
	return nil
}
