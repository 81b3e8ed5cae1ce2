package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Pool2d is the kernel of pool_2d.
type Pool2d[T dtype.Float] struct{}

// window is the part of an image that an element of the output sees.
type window struct{ top, bottom, left, right int }

func windowOf(at *pool2d.Attrs, d *pool2d.Dims, p, q int) window {
	h, w := p*at.StrideH-at.PaddingH, q*at.StrideW-at.PaddingW
	return window{max(h, 0), min(h+at.KernelH, d.H), max(w, 0), min(w+at.KernelW, d.W)}
}

// divisor returns the number of elements that a mean divides by.
func (w window) divisor(at *pool2d.Attrs) int {
	if at.CountIncludePad {
		return at.KernelH * at.KernelW
	}
	return (w.bottom - w.top) * (w.right - w.left)
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

// Forward computes images of the output.
func (Pool2d[T]) Forward(_ *task.Ctx, a *pool2d.Forward[T], r task.Range) error {
	at, d := &a.Attrs, &a.Dims
	pre, keepPre := a.Pre.Get()
	for plane := r.Lo; plane < r.Hi; plane++ {
		image := plane * d.H * d.W
		for p := range d.P {
			for q := range d.Q {
				w := windowOf(at, d, p, q)
				var y T
				if at.PoolType == pool2d.PoolTypeMax {
					y = a.Input.At(largest(a.Input, image, d.W, w))
				} else {
					var sum float64
					for h := w.top; h < w.bottom; h++ {
						for x := w.left; x < w.right; x++ {
							sum += float64(a.Input.At(image + h*d.W + x))
						}
					}
					y = T(sum / float64(w.divisor(at)))
				}
				i := (plane*d.P+p)*d.Q + q
				if keepPre {
					pre.Set(i, y)
				}
				a.Output.Set(i, activate(at.Activation, y))
			}
		}
	}
	return nil
}

// Backward adds to images of the gradient of input.
func (Pool2d[T]) Backward(_ *task.Ctx, a *pool2d.Backward[T], r task.Range) error {
	at, d := &a.Attrs, &a.Dims
	input, _ := a.Input.Get()
	der := derivative[T]{at.Activation, a.Output, a.Pre}
	for plane := r.Lo; plane < r.Hi; plane++ {
		image := plane * d.H * d.W
		for p := range d.P {
			for q := range d.Q {
				i := (plane*d.P+p)*d.Q + q
				g := der.times(i, a.GradOutput.At(i))
				w := windowOf(at, d, p, q)
				if at.PoolType == pool2d.PoolTypeMax {
					a.GradInput.Add(largest(input, image, d.W, w), g)
					continue
				}
				g /= T(w.divisor(at))
				for h := w.top; h < w.bottom; h++ {
					for x := w.left; x < w.right; x++ {
						a.GradInput.Add(image+h*d.W+x, g)
					}
				}
			}
		}
	}
	return nil
}
