package kernels

import (
	adaptive "github.com/opgen/opgen/generated/adaptivepool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// AdaptivePool2d is the kernel of adaptive_pool_2d.
type AdaptivePool2d[T dtype.Float] struct{}

func newAdaptive(at *adaptive.Attrs, d *adaptive.Dims, mean bool) *pooling {
	return &pooling{
		height: d.H, width: d.W, rows: at.OutputH, cols: at.OutputW,
		mean: mean, activation: at.Activation,
		window: func(p, q int) window {
			return window{
				p * d.H / at.OutputH, shape.CeilDiv((p+1)*d.H, at.OutputH),
				q * d.W / at.OutputW, shape.CeilDiv((q+1)*d.W, at.OutputW),
			}
		},
		divisor: window.size,
	}
}

// Forward computes images of the output.
func (AdaptivePool2d[T]) Forward(_ *op.Ctx, a *adaptive.Forward[T], r op.Range) error {
	s := newAdaptive(&a.Attrs, &a.Dims, a.Averages)
	for plane := r.Lo; plane < r.Hi; plane++ {
		poolForward(s, a.Input, a.Output, a.Pre, plane, 0, s.rows)
	}
	return nil
}

// Backward adds to images of the gradient of input.
func (AdaptivePool2d[T]) Backward(_ *op.Ctx, a *adaptive.Backward[T], r op.Range) error {
	der := derivative[T]{a.Attrs.Activation, a.Output, a.Pre}
	s := newAdaptive(&a.Attrs, &a.Dims, a.Averages)
	for plane := r.Lo; plane < r.Hi; plane++ {
		poolBackward(s, a.Input, a.GradOutput, a.GradInput, der, plane)
	}
	return nil
}
