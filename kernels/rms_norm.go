package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/rmsnorm"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/kernels/internal/stats"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// RmsNorm is the kernel of rms_norm. Elements that are normalized together are a group.
type RmsNorm[T dtype.Float] struct{}

// Forward normalizes groups.
func (RmsNorm[T]) Forward(_ *op.Ctx, a *rmsnorm.Forward[T], r op.Range) error {
	g := index.NewGroups(a.Dims.X, a.Dims.AXES, r.Lo)
	for k := r.Lo; k < r.Hi; k++ {
		n := normalized[T]{a.Input, 0, 1 / math.Sqrt(stats.MeanSquare(a.Input, g)+a.Attrs.Eps)}
		for p, i := range g.All() {
			a.Output.Set(i, T(n.at(i)*elementOr(a.Gamma, p, 1)))
		}
		a.Scale.Set(k, n.scale)
		g.Next()
	}
	return nil
}

// BackwardInput computes the gradient of groups of the input.
func (RmsNorm[T]) BackwardInput(_ *op.Ctx, a *rmsnorm.Backward[T], r op.Range) error {
	if !a.GradInput.Wanted() {
		return nil
	}
	h := scaled(a.GradOutput, a.Gamma)
	g := index.NewGroups(a.Dims.X, a.Dims.AXES, r.Lo)
	for k := r.Lo; k < r.Hi; k++ {
		n := normalized[T]{a.Input, 0, a.Scale.At(k)}
		_, product := n.sums(g, h)
		n.backward(a.GradInput, g, h, 0, n.scale*product/float64(g.Size()))
		g.Next()
	}
	return nil
}

// BackwardGamma computes elements of the gradient of gamma: sums over all groups.
func (RmsNorm[T]) BackwardGamma(_ *op.Ctx, a *rmsnorm.Backward[T], r op.Range) error {
	across := index.NewGroups(a.Dims.X, index.Others(a.Dims.AXES, len(a.Dims.X)), r.Lo)
	for p := r.Lo; p < r.Hi; p++ {
		a.GradGamma.Put(p, T(gradOfGamma(across, a.GradOutput, func(k int) normalized[T] {
			return normalized[T]{a.Input, 0, a.Scale.At(k)}
		})))
		across.Next()
	}
	return nil
}
