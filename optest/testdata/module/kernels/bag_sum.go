package kernels

import (
	"fmt"

	"example.com/module/generated/bagsum"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// BagSum is the kernel of bag_sum.
type BagSum[T dtype.Float, I dtype.Index] struct{}

// Forward computes bags r.Lo to r.Hi-1.
func (BagSum[T, I]) Forward(_ *op.Ctx, a *bagsum.Forward[T, I], r op.Range) error {
	for b := r.Lo; b < r.Hi; b++ {
		lo, hi, err := bag(a.Offsets, b)
		if err != nil {
			return err
		}
		var sum T
		for i := lo; i < hi; i++ {
			sum += a.Values.At(i)
		}
		a.Output.Set(b, sum)
	}
	return nil
}

// Backward gives each value the gradient of its bag, or 0.
func (BagSum[T, I]) Backward(_ *op.Ctx, a *bagsum.Backward[T, I], _ op.Range) error {
	b := 0
	for i := range a.GradValues.Len() {
		for b < a.GradOutput.Len() && int(a.Offsets.At(b+1)) <= i {
			b++
		}
		var grad T
		if b < a.GradOutput.Len() && int(a.Offsets.At(b)) <= i {
			grad = a.GradOutput.At(b)
		}
		a.GradValues.Put(i, grad)
	}
	return nil
}

// bag returns the values that belong to a bag.
func bag[I dtype.Index](offsets tensor.RO[I], b int) (lo, hi int, err error) {
	lo, hi = int(offsets.At(b)), int(offsets.At(b+1))
	if lo > hi {
		err = fmt.Errorf("slot offsets, element %d: want at least the offset before, %d, got %d", b+1, lo, hi)
	}
	return lo, hi, err
}
