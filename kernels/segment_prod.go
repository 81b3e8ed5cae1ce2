package kernels

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/generated/segmentprod"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// SegmentProd is the kernel of segment_prod.
type SegmentProd[T dtype.Float | dtype.Index, L dtype.Index] struct{}

// Forward multiplies each row into the row of its segment.
func (SegmentProd[T, L]) Forward(_ *op.Ctx, a *segmentprod.Forward[T, L], _ op.Range) error {
	width := a.Width
	for i := range a.Segment.Len() {
		s, err := segmentOf(a.Segment, i, a.Attrs.Segments)
		if err != nil {
			return err
		}
		for d := range width {
			a.Output.Fold(s*width+d, a.Data.At(i*width+d))
		}
	}
	return nil
}

// segmentOf returns the segment of a row.
func segmentOf[L dtype.Index](segment tensor.RO[L], i, segments int) (int, error) {
	s := int(segment.At(i))
	if s < 0 || s >= segments {
		return 0, fmt.Errorf("slot segment, element %d: want a segment from 0 to %d, got %d", i, segments-1, s)
	}
	return s, nil
}

// SegmentProdBackward is the kernel of segment_prod's backward.
type SegmentProdBackward[T dtype.Float, L dtype.Index] struct{}

// Backward puts the gradients of columns. The product of the other factors is the output without the factor,
// where a division gives it: it does not if a factor is 0, or if the product is too large or too small for
// its type.
func (SegmentProdBackward[T, L]) Backward(_ *op.Ctx, a *segmentprod.Backward[T, L], r op.Range) error {
	width := a.Width
	least := 0x1p-1022 // below, numbers have fewer digits
	if dtype.Of[T]() == dtype.F32 {
		least = 0x1p-14 // of f16, which this kernel computes, too
	}
	for i := range a.Segment.Len() {
		s, err := segmentOf(a.Segment, i, a.Attrs.Segments)
		if err != nil {
			return err
		}
		for d := r.Lo; d < r.Hi; d++ {
			product, factor := float64(a.Output.At(s*width+d)), float64(a.Data.At(i*width+d))
			others := product / factor
			if size := math.Abs(product); !(size >= least) || math.IsInf(size, 0) {
				others = productOfOthers(a, i, s, d)
			}
			a.GradData.Put(i*width+d, T(float64(a.GradOutput.At(s*width+d))*others))
		}
	}
	return nil
}

// productOfOthers multiplies the elements of a column whose rows have the segment s, but that of row i.
func productOfOthers[T dtype.Float, L dtype.Index](a *segmentprod.Backward[T, L], i, s, d int) float64 {
	product := 1.0
	for j := range a.Segment.Len() {
		if j != i && int(a.Segment.At(j)) == s {
			product *= float64(a.Data.At(j*a.Width + d))
		}
	}
	return product
}
