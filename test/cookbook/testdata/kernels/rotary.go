package kernels

import (
	"math"

	"example.com/cookbook/generated/rotary"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Rotary is the kernel of rotary.
type Rotary[T dtype.Float] struct{}

// Forward turns the pairs of positions r.Lo to r.Hi-1.
func (Rotary[T]) Forward(_ *op.Ctx, a *rotary.Forward[T], r op.Range) error {
	half := a.Dims.P
	for i := r.Lo; i < r.Hi; i++ {
		for p := range half {
			sin, cos := turn(a.Attrs.Base, i%a.Dims.S, p, half)
			x, y := float64(a.Input.At(i*a.Dims.C+p)), float64(a.Input.At(i*a.Dims.C+half+p))
			a.Output.Set(i*a.Dims.C+p, T(x*cos-y*sin))
			a.Output.Set(i*a.Dims.C+half+p, T(y*cos+x*sin))
		}
	}
	return nil
}

// Backward turns the gradients of positions r.Lo to r.Hi-1 back.
func (Rotary[T]) Backward(_ *op.Ctx, a *rotary.Backward[T], r op.Range) error {
	half := a.Dims.P
	for i := r.Lo; i < r.Hi; i++ {
		for p := range half {
			sin, cos := turn(a.Attrs.Base, i%a.Dims.S, p, half)
			x, y := float64(a.GradOutput.At(i*a.Dims.C+p)), float64(a.GradOutput.At(i*a.Dims.C+half+p))
			a.GradInput.Put(i*a.Dims.C+p, T(x*cos+y*sin))
			a.GradInput.Put(i*a.Dims.C+half+p, T(y*cos-x*sin))
		}
	}
	return nil
}

// turn returns the sine and the cosine of the angle of pair p at a position.
func turn(base float64, position, p, half int) (sin, cos float64) {
	return math.Sincos(float64(position) * math.Pow(base, -float64(p)/float64(half)))
}
