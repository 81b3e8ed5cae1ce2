package kernels

import (
	"example.com/cookbook/generated/gathernd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// GatherNd is the kernel of gather_nd.
type GatherNd[T dtype.Float, I dtype.Index] struct{}

// Forward copies rows r.Lo to r.Hi-1 of the output.
func (GatherNd[T, I]) Forward(_ *op.Ctx, a *gathernd.Forward[T, I], r op.Range) error {
	width := a.Dims.C
	for n := r.Lo; n < r.Hi; n++ {
		row := int(a.Index.At(2*n))*a.Dims.W + int(a.Index.At(2*n+1))
		for c := range width {
			a.Output.Set(n*width+c, a.Input.At(row*width+c))
		}
	}
	return nil
}

// Backward adds the gradients to the rows that were taken. A row may be taken several times, so one range does all.
func (GatherNd[T, I]) Backward(_ *op.Ctx, a *gathernd.Backward[T, I], _ op.Range) error {
	width := a.Dims.C
	for n := range a.Dims.N {
		row := int(a.Index.At(2*n))*a.Dims.W + int(a.Index.At(2*n+1))
		for c := range width {
			a.GradInput.Add(row*width+c, a.GradOutput.At(n*width+c))
		}
	}
	return nil
}
