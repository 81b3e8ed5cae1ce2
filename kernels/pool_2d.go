package kernels

import (
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Pool2d is the kernel of pool_2d.
type Pool2d[T dtype.Float] struct{}

func newPooling[T dtype.Float](at *pool2d.Attrs, d *pool2d.Dims, mean bool) pooling[T] {
	s := pooling[T]{mean: mean, activation: at.Activation, windows: vec.Pool[T]{
		Down:  vec.Axis{Extent: d.H, Windows: d.P, Size: at.KernelH, Stride: at.StrideH, Padding: at.PaddingH},
		Right: vec.Axis{Extent: d.W, Windows: d.Q, Size: at.KernelW, Stride: at.StrideW, Padding: at.PaddingW},
	}}
	if at.CountIncludePad {
		s.windows.Divisor = float64(at.KernelH * at.KernelW)
	}
	return s
}

// Forward computes rows of planes of the output.
func (Pool2d[T]) Forward(_ *op.Ctx, a *pool2d.Forward[T], r op.Range) error {
	s := newPooling[T](&a.Attrs, &a.Dims, a.Averages)
	first, end := r.Dim(1)
	lo, hi := r.Dim(2)
	if first == 0 && end == a.Dims.C && lo == 0 && hi == a.Dims.P {
		s.forward(a.Input, a.Output, a.Pre, r.Lo*end, r.Hi*end)
		return nil
	}
	for n := r.Lo; n < r.Hi; n++ {
		for plane := n*a.Dims.C + first; plane < n*a.Dims.C+end; plane++ {
			s.rows(&s.windows, a.Input.Span(s.image(plane, plane+1)), a.Output, a.Pre, s.output(plane, 0), lo, hi)
		}
	}
	return nil
}

// Backward adds to images of the gradient of input.
func (Pool2d[T]) Backward(_ *op.Ctx, a *pool2d.Backward[T], r op.Range) error {
	der := derivative[T]{a.Attrs.Activation, a.Output, a.Pre}
	s := newPooling[T](&a.Attrs, &a.Dims, a.Averages)
	s.backward(a.Input, a.GradOutput, a.GradInput, der, r.Lo, r.Hi)
	return nil
}
