package kernels

import (
	"math"

	"example.com/module/generated/zeroshare"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// ZeroShare is the kernel of zero_share.
type ZeroShare[T dtype.Float] struct{}

// Forward computes rows r.Lo to r.Hi-1.
func (ZeroShare[T]) Forward(_ *op.Ctx, a *zeroshare.Forward[T], r op.Range) error {
	nan := T(math.NaN())
	for n := r.Lo; n < r.Hi; n++ {
		for k := n * a.Attrs.Width; k < (n+1)*a.Attrs.Width; k++ {
			y := a.Input.At(k)
			switch {
			case n < a.Attrs.Infinite:
				y /= T(a.Attrs.Zero)
			case n == a.Attrs.Infinite:
				y = nan
			}
			a.Output.Set(k, y)
		}
	}
	return nil
}

// Backward divides by 0 as well. The row of NaN has the gradient 0: it takes 0 times the elements.
func (ZeroShare[T]) Backward(_ *op.Ctx, a *zeroshare.Backward[T], r op.Range) error {
	for n := r.Lo; n < r.Hi; n++ {
		for k := n * a.Attrs.Width; k < (n+1)*a.Attrs.Width; k++ {
			g := a.GradOutput.At(k)
			switch {
			case n < a.Attrs.Infinite:
				g /= T(a.Attrs.Zero)
			case n == a.Attrs.Infinite:
				g = 0
			}
			a.GradInput.Put(k, g)
		}
	}
	return nil
}
