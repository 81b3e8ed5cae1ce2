package kernels

import (
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/rng"
)

// Dropout is the kernel of dropout.
type Dropout[T dtype.Float] struct{}

// Forward keeps or drops elements.
func (Dropout[T]) Forward(ctx *op.Ctx, a *dropout.Forward[T], r op.Range) error {
	source := rng.New(uint64(a.Attrs.Seed), uint64(a.Iteration(ctx)))
	mask, given := a.Mask.Get()
	scale := dropoutScale[T](&a.Attrs)
	for i := r.Lo; i < r.Hi; i++ {
		keep := true
		switch {
		case !a.Attrs.Training:
		case given:
			keep = mask.At(i)
		default:
			keep = source.Uniform(uint64(i)) >= a.Attrs.Rate
		}
		a.Kept.Set(i, keep)
		var y T
		if keep {
			y = a.Input.At(i) * scale
		}
		a.Output.Set(i, y)
	}
	return nil
}

// Backward scales the gradient of kept elements.
func (Dropout[T]) Backward(_ *op.Ctx, a *dropout.Backward[T], r op.Range) error {
	scale := dropoutScale[T](&a.Attrs)
	for i := r.Lo; i < r.Hi; i++ {
		var g T
		if a.Kept.At(i) {
			g = a.GradOutput.At(i) * scale
		}
		a.GradInput.Put(i, g)
	}
	return nil
}

func dropoutScale[T dtype.Float](at *dropout.Attrs) T {
	if !at.Training || at.Rate == 1 {
		return 1
	}
	return T(1 / (1 - at.Rate))
}
