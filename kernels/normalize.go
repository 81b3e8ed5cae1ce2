package kernels

import (
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
)

// normalized is a group of elements: x becomes (x - center) * scale.
type normalized[T dtype.Float] struct {
	x             tensor.RO[T]
	center, scale float64
}

func (n normalized[T]) at(i int) float64 { return (float64(n.x.At(i)) - n.center) * n.scale }

// gradient gives the gradient of normalized elements: of number p of a group, which is element i.
type gradient func(p, i int) float64

// sums returns the sum of the gradient over a group, and that of its product with the normalized
// elements.
func (n normalized[T]) sums(g *index.Groups, h gradient) (sum, product float64) {
	for p, i := range g.All() {
		sum += h(p, i)
		product += h(p, i) * n.at(i)
	}
	return sum, product
}

// backward puts the gradient of the elements of a group: h * scale, less the parts that flow through center and scale. The
// first part is a constant. The second is a constant times the normalized element.
func (n normalized[T]) backward(to tensor.Grad[T], g *index.Groups, h gradient, constant, factor float64) {
	for p, i := range g.All() {
		to.Put(i, T(n.scale*h(p, i)-constant-factor*n.at(i)))
	}
}

// scaled returns gradient g as seen through a multiplication by gamma, which may be absent.
func scaled[T dtype.Float](g tensor.RO[T], gamma tensor.Opt[tensor.RO[T]]) gradient {
	w, ok := gamma.Get()
	if !ok {
		return func(_, i int) float64 { return float64(g.At(i)) }
	}
	return func(p, i int) float64 { return float64(g.At(i)) * float64(w.At(p)) }
}

// elementOr returns an element of a tensor that may be absent.
func elementOr[T dtype.Float](x tensor.Opt[tensor.RO[T]], i int, absent float64) float64 {
	if v, ok := x.Get(); ok {
		return float64(v.At(i))
	}
	return absent
}

// gradOfGamma returns the gradient of an element of gamma: the sum, over groups k, of the gradient times the normalized
// element.
func gradOfGamma[T dtype.Float](across *index.Groups, grad tensor.RO[T], group func(k int) normalized[T]) float64 {
	var sum float64
	for k, i := range across.All() {
		n := group(k)
		sum += float64(grad.At(i)) * n.at(i)
	}
	return sum
}
