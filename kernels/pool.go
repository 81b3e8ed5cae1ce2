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

// image returns the numbers of the first elements of the images of planes first and end.
func (s *pooling[T]) image(first, end int) (lo, hi int) {
	size := s.windows.Down.Extent * s.windows.Right.Extent
	return first * size, end * size
}

// output returns the number of the first element of row p of a plane of the output.
func (s *pooling[T]) output(plane, p int) int {
	return (plane*s.windows.Down.Windows + p) * s.windows.Right.Windows
}

// together returns windows for n planes, and how many of them they see: all at once, as one high image, where
// no window sees two of them, or else one.
func (s *pooling[T]) together(n int) (w vec.Pool[T], planes int) {
	if w, ok := s.windows.Stacked(n); ok && s.activation == 0 {
		return w, n
	}
	return s.windows, 1
}

// forward computes all rows of planes first to end-1 of the output.
func (s *pooling[T]) forward(input tensor.RO[T], output tensor.WO[T], keep tensor.Opt[tensor.WO[T]], first, end int) {
	for w, n := s.together(end - first); first < end; first += n {
		s.rows(&w, input.Span(s.image(first, first+n)), output, keep, s.output(first, 0), 0, w.Down.Windows)
	}
}

// rows computes rows lo to hi-1 of the output of windows on an image. start is the number of the first
// element of their output.
func (s *pooling[T]) rows(w *vec.Pool[T], image tensor.ROLane[T], output tensor.WO[T], keep tensor.Opt[tensor.WO[T]], start, lo, hi int) {
	var finish func(int, T) T
	if s.activation != 0 {
		pre, keepPre := keep.Get()
		finish = func(i int, y T) T {
			if keepPre {
				pre.Set(start+i, y)
			}
			return activate(s.activation, y)
		}
	}
	to := output.Span(start+lo*w.Right.Windows, start+hi*w.Right.Windows)
	if s.mean {
		w.Mean(to, image, lo, hi, finish)
	} else {
		w.Max(to, image, lo, hi, finish)
	}
}

// backward adds to planes first to end-1 of the gradient of the input, which is there unless the operator
// takes means. der is the activation's derivative.
func (s *pooling[T]) backward(input tensor.Opt[tensor.RO[T]], grad tensor.RO[T], to tensor.Scatter[T], der derivative[T], first, end int) {
	for w, n := s.together(end - first); first < end; first += n {
		start := s.output(first, 0)
		var finish func(int, T) T
		if der.f != 0 {
			finish = func(i int, g T) T { return der.times(start+i, g) }
		}
		image, of := to.Span(s.image(first, first+n)), grad.Span(start, s.output(first+n, 0))
		if x, ok := input.Get(); ok && !s.mean {
			w.MaxGrad(image, x.Span(s.image(first, first+n)), of, finish)
		} else {
			w.MeanGrad(image, of, finish)
		}
	}
}
