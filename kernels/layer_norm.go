package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/kernels/internal/stats"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// LayerNorm is the kernel of layer_norm. Elements that are normalized together are a group.
type LayerNorm[T dtype.Float] struct{}

// Forward normalizes groups.
func (LayerNorm[T]) Forward(_ *op.Ctx, a *layernorm.Forward[T], r op.Range) error {
	mean, wantMean := a.Mean.Get()
	inv, wantInv := a.InvStdDev.Get()
	g := index.NewGroups(a.Dims.X, a.Dims.AXES, r.Lo)
	for k := r.Lo; k < r.Hi; k++ {
		m, v := stats.Moments(a.Input, g)
		n := normalized[T]{a.Input, m, 1 / math.Sqrt(v+a.Attrs.Eps)}
		for p, i := range g.All() {
			a.Output.Set(i, T(n.at(i)*elementOr(a.Gamma, p, 1)+elementOr(a.Beta, p, 0)))
		}
		a.Center.Set(k, n.center)
		a.Scale.Set(k, n.scale)
		if wantMean {
			mean.Set(k, T(n.center))
		}
		if wantInv {
			inv.Set(k, T(n.scale))
		}
		g.Next()
	}
	return nil
}

// BackwardInput computes the gradient of groups of the input.
func (LayerNorm[T]) BackwardInput(_ *op.Ctx, a *layernorm.Backward[T], r op.Range) error {
	if !a.GradInput.Wanted() {
		return nil
	}
	h := scaled(a.GradOutput, a.Gamma)
	g := index.NewGroups(a.Dims.X, a.Dims.AXES, r.Lo)
	size := float64(g.Size())
	for k := r.Lo; k < r.Hi; k++ {
		n := normalized[T]{a.Input, a.Center.At(k), a.Scale.At(k)}
		sum, product := n.sums(g, h)
		constant := n.scale*sum - elementOr(a.GradMean, k, 0)
		factor := n.scale*product + n.scale*n.scale*elementOr(a.GradInvStdDev, k, 0)
		n.backward(a.GradInput, g, h, constant/size, factor/size)
		g.Next()
	}
	return nil
}

// BackwardWeights computes elements of the gradients of gamma and beta: sums over all groups.
func (LayerNorm[T]) BackwardWeights(_ *op.Ctx, a *layernorm.Backward[T], r op.Range) error {
	across := index.NewGroups(a.Dims.X, index.Others(a.Dims.AXES, len(a.Dims.X)), r.Lo)
	for p := r.Lo; p < r.Hi; p++ {
		a.GradGamma.Put(p, T(gradOfGamma(across, a.GradOutput, func(k int) normalized[T] {
			return normalized[T]{a.Input, a.Center.At(k), a.Scale.At(k)}
		})))
		a.GradBeta.Put(p, T(stats.Sum(a.GradOutput, across)))
		across.Next()
	}
	return nil
}
