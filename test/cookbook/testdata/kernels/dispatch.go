package kernels

import (
	"example.com/cookbook/generated/dispatch"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Dispatch is the kernel of dispatch.
type Dispatch[T dtype.Float, I dtype.Index] struct{}

// Forward fills the places of experts r.Lo to r.Hi-1.
func (Dispatch[T, I]) Forward(_ *op.Ctx, a *dispatch.Forward[T, I], r op.Range) error {
	places, width := a.Attrs.Places, a.Dims.D
	for e := r.Lo; e < r.Hi; e++ {
		taken := 0
		for b := range a.Dims.B {
			if int(a.Expert.At(b)) != e || taken == places {
				continue
			}
			for d := range width {
				a.Output.Set((e*places+taken)*width+d, a.Input.At(b*width+d))
			}
			taken++
		}
		for i := (e*places + taken) * width; i < (e+1)*places*width; i++ {
			a.Output.Set(i, 0)
		}
	}
	return nil
}

// Backward gives each row the gradient of its place. Rows without a place get 0.
func (Dispatch[T, I]) Backward(_ *op.Ctx, a *dispatch.Backward[T, I], _ op.Range) error {
	places, width := a.Attrs.Places, a.Dims.D
	taken := make([]int, a.Attrs.Experts)
	for b := range a.Dims.B {
		e := int(a.Expert.At(b))
		for d := range width {
			var grad T
			if taken[e] < places {
				grad = a.GradOutput.At((e*places+taken[e])*width + d)
			}
			a.GradInput.Put(b*width+d, grad)
		}
		taken[e]++
	}
	return nil
}
