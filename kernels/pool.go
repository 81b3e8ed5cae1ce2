package kernels

import (
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// pooling is the geometry of a pooling operator. A plane is an image of one channel.
type pooling[T dtype.Float] struct {
	windows    vec.Pool[T]
	mean       bool
	activation activation.Activation
}

// image returns the numbers of the first element of a plane's image and of the next one.
func (s *pooling[T]) image(plane int) (lo, hi int) {
	size := s.windows.Down.Extent * s.windows.Right.Extent
	return plane * size, (plane + 1) * size
}

// output returns the number of the first element of row p of a plane of the output.
func (s *pooling[T]) output(plane, p int) int {
	return (plane*s.windows.Down.Windows + p) * s.windows.Right.Windows
}

// forward computes rows lo to hi-1 of a plane of the output.
func (s *pooling[T]) forward(input tensor.RO[T], output tensor.WO[T], keep tensor.Opt[tensor.WO[T]], plane, lo, hi int) {
	var finish func(int, T) T
	if s.activation != 0 {
		pre, keepPre := keep.Get()
		first := s.output(plane, 0)
		finish = func(i int, y T) T {
			if keepPre {
				pre.Set(first+i, y)
			}
			return activate(s.activation, y)
		}
	}
	to, from := output.Span(s.output(plane, lo), s.output(plane, hi)), input.Span(s.image(plane))
	if s.mean {
		s.windows.Mean(to, from, lo, hi, finish)
	} else {
		s.windows.Max(to, from, lo, hi, finish)
	}
}

// backward adds to a plane of the gradient of the input, which is there unless the operator takes
// means. der is the activation's derivative.
func (s *pooling[T]) backward(input tensor.Opt[tensor.RO[T]], grad tensor.RO[T], to tensor.Scatter[T], der derivative[T], plane int) {
	first := s.output(plane, 0)
	var finish func(int, T) T
	if der.f != 0 {
		finish = func(i int, g T) T { return der.times(first+i, g) }
	}
	image, of := to.Span(s.image(plane)), grad.Span(first, s.output(plane+1, 0))
	if x, ok := input.Get(); ok && !s.mean {
		s.windows.MaxGrad(image, x.Span(s.image(plane)), of, finish)
	} else {
		s.windows.MeanGrad(image, of, finish)
	}
}
