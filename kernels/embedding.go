package kernels

import (
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// Embedding is the kernel of embedding. The entries that become one row of the output are a bag; without
// aggregation, a bag holds one.
type Embedding[T dtype.Float, L dtype.Index] struct{}

// bagScale returns the factor from the sum over a bag to a row of the output.
func bagScale(at *embedding.Attrs, d *embedding.Dims) float64 {
	if at.Aggr == embedding.AggrAvg {
		return 1 / float64(max(d.BAG, 1))
	}
	return 1
}

// Forward computes rows of the output.
func (Embedding[T, L]) Forward(_ *op.Ctx, a *embedding.Forward[T, L], r op.Range) error {
	bag, channels := a.Dims.BAG, a.Attrs.OutChannels
	scale := bagScale(&a.Attrs, &a.Dims)
	for i := r.Lo; i < r.Hi; i++ {
		entries := a.Input.Span(i*bag, (i+1)*bag)
		for b := range bag {
			if _, err := indexAt("input", entries, b, a.Attrs.NumEntries); err != nil {
				return err
			}
		}
		for c := range channels {
			var sum float64
			for b := range bag {
				sum += float64(a.Weight.At(int(entries.At(b))*channels + c))
			}
			a.Output.Set(i*channels+c, T(sum*scale))
		}
	}
	return nil
}

// Backward computes columns of the gradient of weight.
func (Embedding[T, L]) Backward(_ *op.Ctx, a *embedding.Backward[T, L], r op.Range) error {
	d, channels := &a.Dims, a.Attrs.OutChannels
	scale := bagScale(&a.Attrs, d)
	for i := range shape.Prod(d.X[:d.LAST]) {
		entries := a.Input.Span(i*d.BAG, (i+1)*d.BAG)
		for b := range d.BAG {
			entry, err := indexAt("input", entries, b, a.Attrs.NumEntries)
			if err != nil {
				return err
			}
			for c := r.Lo; c < r.Hi; c++ {
				a.GradWeight.Add(entry*channels+c, T(float64(a.GradOutput.At(i*channels+c))*scale))
			}
		}
	}
	return nil
}
