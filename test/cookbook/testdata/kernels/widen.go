package kernels

import (
	"example.com/cookbook/generated/widen"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Widen is the kernel of widen.
type Widen[T dtype.Float] struct{}

// Forward computes channels r.Lo to r.Hi-1 of the output, counted through the batch.
func (Widen[T]) Forward(_ *op.Ctx, a *widen.Forward[T], r op.Range) error {
	channels, width, stride, length := a.Attrs.Channels, a.Attrs.Width, a.Attrs.Stride, a.Dims.L
	long := (length-1)*stride + width
	for i := r.Lo; i < r.Hi; i++ {
		n, f := i/channels, i%channels
		for p := range long {
			var sum float64
			for k := p % stride; k < width && k <= p; k += stride {
				if l := (p - k) / stride; l < length {
					for c := range a.Dims.C {
						sum += float64(a.Filter.At((c*channels+f)*width+k)) * float64(a.Input.At((n*a.Dims.C+c)*length+l))
					}
				}
			}
			a.Output.Set(i*long+p, T(sum))
		}
	}
	return nil
}

// BackwardInput computes channels r.Lo to r.Hi-1 of the gradient of input, counted through the batch.
func (Widen[T]) BackwardInput(_ *op.Ctx, a *widen.Backward[T], r op.Range) error {
	channels, width, stride, length := a.Attrs.Channels, a.Attrs.Width, a.Attrs.Stride, a.Dims.L
	long := (length-1)*stride + width
	for i := r.Lo; i < r.Hi; i++ {
		n, c := i/a.Dims.C, i%a.Dims.C
		for l := range length {
			var sum float64
			for f := range channels {
				for k := range width {
					sum += float64(a.Filter.At((c*channels+f)*width+k)) * float64(a.GradOutput.At((n*channels+f)*long+l*stride+k))
				}
			}
			a.GradInput.Put(i*length+l, T(sum))
		}
	}
	return nil
}

// BackwardFilter computes filters r.Lo to r.Hi-1 of the gradient.
func (Widen[T]) BackwardFilter(_ *op.Ctx, a *widen.Backward[T], r op.Range) error {
	channels, width, stride, length := a.Attrs.Channels, a.Attrs.Width, a.Attrs.Stride, a.Dims.L
	long := (length-1)*stride + width
	for i := r.Lo; i < r.Hi; i++ {
		c, f := i/channels, i%channels
		for k := range width {
			var sum float64
			for n := range a.Dims.N {
				for l := range length {
					sum += float64(a.Input.At((n*a.Dims.C+c)*length+l)) * float64(a.GradOutput.At((n*channels+f)*long+l*stride+k))
				}
			}
			a.GradFilter.Put(i*width+k, T(sum))
		}
	}
	return nil
}
