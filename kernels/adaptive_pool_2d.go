package kernels

import (
	adaptive "github.com/opgen/opgen/generated/adaptivepool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// AdaptivePool2d is the kernel of adaptive_pool_2d.
type AdaptivePool2d[T dtype.Float] struct{}

func newAdaptive[T dtype.Float](at *adaptive.Attrs, d *adaptive.Dims, mean bool) pooling[T] {
	return pooling[T]{mean: mean, activation: at.Activation, windows: vec.Pool[T]{
		Down: vec.Axis{Extent: d.H, Windows: at.OutputH}, Right: vec.Axis{Extent: d.W, Windows: at.OutputW}}}
}

// Forward computes images of the output.
func (AdaptivePool2d[T]) Forward(_ *op.Ctx, a *adaptive.Forward[T], r op.Range) error {
	s := newAdaptive[T](&a.Attrs, &a.Dims, a.Averages)
	s.forward(a.Input, a.Output, a.Pre, r.Lo, r.Hi)
	return nil
}

// Backward adds to images of the gradient of input.
func (AdaptivePool2d[T]) Backward(_ *op.Ctx, a *adaptive.Backward[T], r op.Range) error {
	der := derivative[T]{a.Attrs.Activation, a.Output, a.Pre}
	s := newAdaptive[T](&a.Attrs, &a.Dims, a.Averages)
	s.backward(a.Input, a.GradOutput, a.GradInput, der, r.Lo, r.Hi)
	return nil
}
