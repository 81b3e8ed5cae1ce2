package kernels

import (
	"github.com/opgen/opgen/generated/concatflat"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/vec"
)

// ConcatFlat is the kernel of concat_flat.
type ConcatFlat[T dtype.Float | dtype.Index | bool] struct{}

// Forward copies elements of the output.
func (ConcatFlat[T]) Forward(_ *op.Ctx, a *concatflat.Forward[T], r op.Range) error {
	parts(a.Dims.X, r, func(i, lo, hi, at int) {
		vec.Copy(a.Output.Span(at, at+hi-lo), a.Input[i].Span(lo, hi))
	})
	return nil
}

// ConcatFlatBackward is the kernel of concat_flat's backward.
type ConcatFlatBackward[T dtype.Float] struct{}

// Backward copies elements of the output's gradient.
func (ConcatFlatBackward[T]) Backward(_ *op.Ctx, a *concatflat.Backward[T], r op.Range) error {
	parts(a.Dims.X, r, func(i, lo, hi, at int) {
		for k := range hi - lo {
			a.GradInput[i].Put(lo+k, a.GradOutput.At(at+k))
		}
	})
	return nil
}

// parts calls f for the tensors, of the given shapes, that a range of the joined elements touches: elements
// lo to hi-1 of tensor i begin at element at.
func parts(shapes [][]int, r op.Range, f func(i, lo, hi, at int)) {
	begin := 0
	for i, s := range shapes {
		size := shape.Prod(s)
		if lo, hi := max(r.Lo-begin, 0), min(r.Hi-begin, size); lo < hi {
			f(i, lo, hi, begin+lo)
		}
		begin += size
	}
}
