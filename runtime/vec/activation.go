package vec

import (
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Sigmoid replaces every element x by 1 / (1 + exp(-x)).
func Sigmoid[T dtype.Float](dst tensor.RWLane[T]) { each(dst, simd.UnaryOf[T](simd.Sigmoid)) }

// Tanh replaces every element by its hyperbolic tangent.
func Tanh[T dtype.Float](dst tensor.RWLane[T]) { each(dst, simd.UnaryOf[T](simd.Tanh)) }

// Gelu replaces every element x by x * Phi(x), where Phi is the distribution of the standard normal numbers.
func Gelu[T dtype.Float](dst tensor.RWLane[T]) {
	phi, times, idle := simd.UnaryOf[T](simd.Phi), simd.BinaryOf[T](simd.Mul), buffers[T]()
	some := idle.Get().(*[bufferLength]T)
	defer idle.Put(some)
	each(dst, func(z, x []T) {
		for len(x) > 0 {
			n := min(len(x), len(some))
			phi(some[:n], x[:n])
			times(z[:n], x[:n], some[:n])
			z, x = z[n:], x[n:]
		}
	})
}

// each applies a function to all elements.
func each[T dtype.Float](dst tensor.RWLane[T], f func(z, x []T)) {
	d, n, u := unlock.Lane(dst.WO().Sealed())
	if u == 1 {
		f(d[:n], d[:n])
		return
	}
	for i := range n {
		f(d[i*u:i*u+1], d[i*u:i*u+1])
	}
}
