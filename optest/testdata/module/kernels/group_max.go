package kernels

import (
	"math"

	"example.com/module/generated/groupmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// GroupMax is the kernel of group_max.
type GroupMax[T dtype.Float] struct{}

// Forward computes groups r.Lo to r.Hi-1.
func (GroupMax[T]) Forward(_ *op.Ctx, a *groupmax.Forward[T], r op.Range) error {
	for g := r.Lo; g < r.Hi; g++ {
		most := T(math.Inf(-1))
		for n := range a.Input.Len() {
			if int(a.Group.At(n)) == g {
				most = max(most, a.Input.At(n))
			}
		}
		a.Most.Set(g, most)
	}
	return nil
}

// Backward gives the gradient of a group to its greatest element.
func (GroupMax[T]) Backward(_ *op.Ctx, a *groupmax.Backward[T], r op.Range) error {
	for n := r.Lo; n < r.Hi; n++ {
		var grad T
		if g := int(a.Group.At(n)); g >= 0 && g < a.Most.Len() && a.Input.At(n) == a.Most.At(g) {
			grad = a.GradMost.At(g)
		}
		a.GradInput.Put(n, grad)
	}
	return nil
}
