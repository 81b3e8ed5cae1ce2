package kernels

import (
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Pool2d is the kernel of pool_2d.
type Pool2d[T dtype.Float] struct{}

func newPooling(at *pool2d.Attrs, d *pool2d.Dims, mean bool) *pooling {
	return &pooling{
		height: d.H, width: d.W, rows: d.P, cols: d.Q,
		mean: mean, activation: at.Activation,
		window: func(p, q int) window {
			h, w := p*at.StrideH-at.PaddingH, q*at.StrideW-at.PaddingW
			return window{max(h, 0), min(h+at.KernelH, d.H), max(w, 0), min(w+at.KernelW, d.W)}
		},
		divisor: func(w window) float64 {
			if at.CountIncludePad {
				return float64(at.KernelH * at.KernelW)
			}
			return w.size()
		},
	}
}

// Forward computes rows of planes of the output.
func (Pool2d[T]) Forward(_ *op.Ctx, a *pool2d.Forward[T], r op.Range) error {
	s := newPooling(&a.Attrs, &a.Dims, a.Averages)
	first, end := r.Dim(1)
	lo, hi := r.Dim(2)
	for n := r.Lo; n < r.Hi; n++ {
		for c := first; c < end; c++ {
			poolForward(s, a.Input, a.Output, a.Pre, n*a.Dims.C+c, lo, hi)
		}
	}
	return nil
}

// Backward adds to images of the gradient of input.
func (Pool2d[T]) Backward(_ *op.Ctx, a *pool2d.Backward[T], r op.Range) error {
	der := derivative[T]{a.Attrs.Activation, a.Output, a.Pre}
	s := newPooling(&a.Attrs, &a.Dims, a.Averages)
	for plane := r.Lo; plane < r.Hi; plane++ {
		poolBackward(s, a.Input, a.GradOutput, a.GradInput, der, plane)
	}
	return nil
}
