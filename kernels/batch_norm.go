package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/batchnorm"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/kernels/internal/stats"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// BatchNorm is the kernel of batch_norm. The elements of a channel are a group.
type BatchNorm[T dtype.Float] struct{}

// channels returns the channels of a batch, from channel start.
func channels(d *batchnorm.Dims, start int) *index.Groups {
	return index.NewGroups([]int{d.N, d.C, shape.Prod(d.S)}, []int{0, 2}, start)
}

// batchWeight returns the weight of the batch of a training step in running means.
func batchWeight(at *batchnorm.Attrs, iteration int) float64 {
	if !at.Training {
		return 0
	}
	return at.Momentum.OrElse(func() float64 { return 1 / float64(iteration+1) })
}

// Forward normalizes channels.
func (BatchNorm[T]) Forward(ctx *op.Ctx, a *batchnorm.Forward[T], r op.Range) error {
	biased, wantBiased := a.RunningVarBiased.Get()
	weight := batchWeight(&a.Attrs, a.Iteration(ctx))
	g := channels(&a.Dims, r.Lo)
	for c := r.Lo; c < r.Hi; c++ {
		runningMean, runningVar := float64(a.RunningMean.At(c)), float64(a.RunningVar.At(c))
		mean, variance := runningMean, runningVar
		if a.Attrs.Training {
			mean, variance = stats.Moments(a.Input, g)
			unbiased := variance * float64(g.Size()) / float64(g.Size()-1)
			a.RunningMean.Set(c, T((1-weight)*runningMean+weight*mean))
			a.RunningVar.Set(c, T((1-weight)*runningVar+weight*unbiased))
		}
		if wantBiased {
			biased.Set(c, T((1-weight)*runningVar+weight*variance))
		}
		n := normalized[T]{a.Input, mean, 1 / math.Sqrt(variance+a.Attrs.Eps)}
		a.Center.Set(c, n.center)
		a.Scale.Set(c, n.scale)
		gamma, beta := elementOr(a.Gamma, c, 1), elementOr(a.Beta, c, 0)
		for _, i := range g.All() {
			y := n.at(i)*gamma + beta
			if a.Attrs.Relu {
				y = max(y, 0)
			}
			a.Output.Set(i, T(y))
		}
		g.Next()
	}
	return nil
}

// Backward computes the gradient of channels of the input, and of their gamma and beta.
func (BatchNorm[T]) Backward(ctx *op.Ctx, a *batchnorm.Backward[T], r op.Range) error {
	output, relu := a.Output.Get()
	weight := batchWeight(&a.Attrs, a.Iteration(ctx))
	h := func(_, i int) float64 {
		if relu && output.At(i) <= 0 {
			return 0
		}
		return float64(a.GradOutput.At(i))
	}
	g := channels(&a.Dims, r.Lo)
	size := float64(g.Size())
	for c := r.Lo; c < r.Hi; c++ {
		n := normalized[T]{a.Input, a.Center.At(c), a.Scale.At(c)}
		sum, product := n.sums(g, h)
		a.GradGamma.Put(c, T(product))
		a.GradBeta.Put(c, T(sum))
		gamma := elementOr(a.Gamma, c, 1)
		var constant, factor float64
		if a.Attrs.Training {
			constant = n.scale * gamma * sum / size
			factor = (n.scale*gamma*product - 2*weight*elementOr(a.GradRunningVarBiased, c, 0)/n.scale) / size
		}
		n.backward(a.GradInput, g, func(p, i int) float64 { return gamma * h(p, i) }, constant, factor)
		g.Next()
	}
	return nil
}
