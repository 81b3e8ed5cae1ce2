package kernels

import (
	"example.com/cookbook/generated/bag"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Bag is the kernel of bag.
type Bag[T dtype.Float, I dtype.Index] struct{}

// Forward adds up the rows of bags r.Lo to r.Hi-1.
func (Bag[T, I]) Forward(_ *op.Ctx, a *bag.Forward[T, I], r op.Range) error {
	size := a.Attrs.Size
	for b := r.Lo; b < r.Hi; b++ {
		for c := range size {
			var sum T
			for k := a.Offsets.At(b); k < a.Offsets.At(b+1); k++ {
				sum += a.Weight.At(int(a.Index.At(int(k)))*size + c)
			}
			a.Output.Set(b*size+c, sum)
		}
	}
	return nil
}

// Backward adds the gradients of bags to their rows.
func (Bag[T, I]) Backward(_ *op.Ctx, a *bag.Backward[T, I], _ op.Range) error {
	size := a.Attrs.Size
	for b := range a.Dims.O - 1 {
		for k := a.Offsets.At(b); k < a.Offsets.At(b+1); k++ {
			row := int(a.Index.At(int(k)))
			for c := range size {
				a.GradWeight.Add(row*size+c, a.GradOutput.At(b*size+c))
			}
		}
	}
	return nil
}
