package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// activate applies an activation to an element.
func activate[T dtype.Float](f activation.Activation, x T) T {
	switch f {
	case activation.Relu:
		return max(x, 0)
	case activation.Sigmoid:
		return sigmoid(x)
	case activation.Tanh:
		return T(math.Tanh(float64(x)))
	case activation.Gelu:
		return gelu(x)
	}
	return x
}

// activation derivatives are functions of the saved tensor: of the input for GELU, of the output for others.
type derivative[T dtype.Float] struct {
	f      activation.Activation
	output tensor.Opt[tensor.RO[T]]
	pre    tensor.Opt[tensor.RO[T]]
}

// times returns g times the derivative at element i.
func (d derivative[T]) times(i int, g T) T {
	if d.f == activation.Gelu {
		pre, _ := d.pre.Get()
		return g * geluDerivative(pre.At(i))
	}
	if d.f == 0 {
		return g
	}
	out, _ := d.output.Get()
	y := out.At(i)
	switch d.f {
	case activation.Relu:
		if y <= 0 {
			return 0
		}
		return g // a result that is NaN hands its gradient on
	case activation.Sigmoid:
		return g * y * (1 - y)
	}
	return g * (1 - T(y*y)) // TANH
}

func sigmoid[T dtype.Float](x T) T {
	return T(1 / (1 + math.Exp(-float64(x))))
}

// gelu is x * Phi(x).
func gelu[T dtype.Float](x T) T {
	return T(float64(x) * rng.NormalCDF(float64(x)))
}

func geluDerivative[T dtype.Float](x T) T {
	v := float64(x)
	return T(rng.NormalCDF(v) + v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi))
}

// finish adds the bias, if there is one, to planes of sums, which begin at an element of output, and applies
// the activation. The planes are those of some channels, once or several times. Sums are kept where backward
// needs them.
func finish[T dtype.Float](f activation.Activation, output tensor.RW[T], keep tensor.Opt[tensor.WO[T]], bias tensor.Opt[tensor.RO[T]],
	channel, channels, first, planes, pixels int) {
	end := first + planes*pixels
	if b, ok := bias.Get(); ok && first < end {
		vec.ShiftRows(output.Span(first, end), b.Span(channel, channel+channels), pixels)
	}
	lane := output.Span(first, end)
	if pre, ok := keep.Get(); ok {
		vec.Copy(pre.Span(first, end), lane.RO())
	}
	switch f {
	case activation.Relu:
		vec.AtLeast(lane, 0)
	case activation.Sigmoid:
		vec.Sigmoid(lane)
	case activation.Tanh:
		vec.Tanh(lane)
	case activation.Gelu:
		vec.Gelu(lane)
	}
}

// before writes elements lo to hi-1 of the gradient before the activation to pre, if pre is present.
func (d derivative[T]) before(pre tensor.Opt[tensor.RW[T]], grad tensor.RO[T], lo, hi int) {
	if to, ok := pre.Get(); ok {
		if out, _ := d.output.Get(); d.f == activation.Relu {
			vec.Gate(to.Span(lo, hi).WO(), grad.Span(lo, hi), out.Span(lo, hi))
			return
		}
		for i := lo; i < hi; i++ {
			to.Set(i, d.times(i, grad.At(i)))
		}
	}
}

// gradBefore returns the gradient before the activation: that of the output if there is no activation.
func gradBefore[T dtype.Float](pre tensor.Opt[tensor.RW[T]], grad tensor.RO[T]) tensor.RO[T] {
	if p, ok := pre.Get(); ok {
		return p.RO()
	}
	return grad
}
