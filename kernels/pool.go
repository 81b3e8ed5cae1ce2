package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
)

// window is the part of an image that an element of the output sees.
type window struct{ top, bottom, left, right int }

// size returns the number of its elements.
func (w window) size() float64 { return float64((w.bottom - w.top) * (w.right - w.left)) }

// pooling is the geometry of a pooling operator. A plane is an image of one channel.
type pooling struct {
	height, width int // of images
	rows, cols    int // of the output
	mean          bool
	activation    activation.Activation
	window        func(p, q int) window  // of an element of the output
	divisor       func(w window) float64 // of a mean
}

// each calls f for every element of rows lo to hi-1 of a plane of the output: its number, that of the first element
// of its image, and its window.
func (s *pooling) each(plane, lo, hi int, f func(i, image int, w window)) {
	for p := lo; p < hi; p++ {
		for q := range s.cols {
			f((plane*s.rows+p)*s.cols+q, plane*s.height*s.width, s.window(p, q))
		}
	}
}

// largest returns the number of the first largest element of an image within the window. A NaN
// counts as largest.
func largest[T dtype.Float](input tensor.RO[T], image, width int, w window) int {
	best := -1
	top := math.Inf(-1)
	for h := w.top; h < w.bottom; h++ {
		for x := w.left; x < w.right; x++ {
			i := image + h*width + x
			if v := float64(input.At(i)); best < 0 || v > top || math.IsNaN(v) && !math.IsNaN(top) {
				best, top = i, v
			}
		}
	}
	return best
}

// poolForward computes rows lo to hi-1 of a plane of the output.
func poolForward[T dtype.Float](s *pooling, input tensor.RO[T], output tensor.WO[T], keep tensor.Opt[tensor.WO[T]], plane, lo, hi int) {
	pre, keepPre := keep.Get()
	s.each(plane, lo, hi, func(i, image int, w window) {
		var y T
		if s.mean {
			var sum float64
			for h := w.top; h < w.bottom; h++ {
				for x := w.left; x < w.right; x++ {
					sum += float64(input.At(image + h*s.width + x))
				}
			}
			y = T(sum / s.divisor(w))
		} else {
			y = input.At(largest(input, image, s.width, w))
		}
		if keepPre {
			pre.Set(i, y)
		}
		output.Set(i, activate(s.activation, y))
	})
}

// poolBackward adds to a plane of the gradient of the input, which is there unless the operator takes
// means. der is the activation's derivative.
func poolBackward[T dtype.Float](s *pooling, input tensor.Opt[tensor.RO[T]], grad tensor.RO[T], to tensor.Scatter[T], der derivative[T], plane int) {
	x, _ := input.Get()
	s.each(plane, 0, s.rows, func(i, image int, w window) {
		g := der.times(i, grad.At(i))
		if !s.mean {
			to.Add(largest(x, image, s.width, w), g)
			return
		}
		g = T(float64(g) / s.divisor(w))
		for h := w.top; h < w.bottom; h++ {
			for x := w.left; x < w.right; x++ {
				to.Add(image+h*s.width+x, g)
			}
		}
	})
}
