package kernels

import (
	"math"

	mha "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/kernels/internal/attention"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/tensor"
)

// MultiheadAttention is the kernel of multihead_attention.
type MultiheadAttention[T dtype.Float] struct{}

func mhaHeads(at *mha.Attrs, d *mha.Dims, iteration int) *attention.Heads {
	return &attention.Heads{
		Heads: at.NumHeads, Queries: d.Q, Positions: d.P, KeySize: d.D, ValueSize: d.D,
		Scale:  1 / math.Sqrt(float64(d.D)),
		Rate:   dropRate(at.Dropout, at.Training),
		Source: rng.New(uint64(at.Seed), uint64(iteration)),
	}
}

// dropRate returns the rate of dropout, which is 0 outside of training.
func dropRate(rate float64, training bool) float64 {
	if !training {
		return 0
	}
	return rate
}

// optSpan returns elements lo to hi-1 of a tensor that may be absent.
func optSpan[T dtype.Float](x tensor.Opt[tensor.RO[T]], lo, hi int) tensor.Opt[tensor.ROLane[T]] {
	if v, ok := x.Get(); ok {
		return tensor.Some(v.Span(lo, hi))
	}
	return tensor.Opt[tensor.ROLane[T]]{}
}

// ForwardProject projects examples, and appends the additional keys and values.
func (MultiheadAttention[T]) ForwardProject(_ *op.Ctx, a *mha.Forward[T], r op.Range) error {
	d, e := &a.Dims, a.Attrs.EmbedDim
	for b := r.Lo; b < r.Hi; b++ {
		project := func(number int, to tensor.RW[T], positions, rows int, x, w tensor.RO[T], size int) {
			blas.Affine(to.Out(b*positions*e, rows, e, tensor.Store), x.Mat(b*rows*size, rows, size), w.Mat(0, e, size).T(), optSpan(a.InProjBias, number*e, (number+1)*e))
		}
		project(0, a.Q, d.Q, d.Q, a.Query, a.QProj, d.QF)
		project(1, a.K, d.P, d.S, a.Key, a.KProj, d.KF)
		project(2, a.V, d.P, d.S, a.Value, a.VProj, d.VF)
		attention.Append(a.K, b*d.P*e, d.P, e, d.S, a.BiasK)
		attention.Append(a.V, b*d.P*e, d.P, e, d.S, a.BiasV)
	}
	return nil
}

// ForwardAttend computes heads.
func (MultiheadAttention[T]) ForwardAttend(ctx *op.Ctx, a *mha.Forward[T], r op.Range) error {
	p := attention.Projections[T]{Query: a.Q.RO(), Key: a.K.RO(), Value: a.V.RO()}
	attention.Forward(mhaHeads(&a.Attrs, &a.Dims, a.Iteration(ctx)), r, p, a.Probs, a.Dropped.Of(ctx.Worker), a.Context)
	return nil
}

// ForwardOutput computes rows of the output.
func (MultiheadAttention[T]) ForwardOutput(_ *op.Ctx, a *mha.Forward[T], r op.Range) error {
	rows, e := r.Hi-r.Lo, a.Attrs.EmbedDim
	blas.Affine(a.Output.Mat(r.Lo*e, rows, e), a.Context.Mat(r.Lo*e, rows, e), a.OutProj.Mat(0, e, e).T(), optSpan(a.OutProjBias, 0, e))
	return nil
}

// BackwardContext computes rows of the gradient of context.
func (MultiheadAttention[T]) BackwardContext(_ *op.Ctx, a *mha.Backward[T], r op.Range) error {
	rows, e := r.Hi-r.Lo, a.Attrs.EmbedDim
	blas.Gemm(a.GradContext.Out(r.Lo*e, rows, e, tensor.Store), 1, a.GradOutput.Mat(r.Lo*e, rows, e), a.OutProj.Mat(0, e, e))
	return nil
}

// BackwardAttend computes the gradients of heads of q, k and v.
func (MultiheadAttention[T]) BackwardAttend(ctx *op.Ctx, a *mha.Backward[T], r op.Range) error {
	p := attention.Projections[T]{Query: a.Q, Key: a.K, Value: a.V}
	to := attention.Gradients[T]{Context: a.GradContext.RO(), Query: a.GradQ, Key: a.GradK, Value: a.GradV}
	scratch := attention.Scratch[T]{Dropped: a.Dropped.Of(ctx.Worker), GradProbs: a.GradProbs.Of(ctx.Worker)}
	attention.Backward(mhaHeads(&a.Attrs, &a.Dims, a.Iteration(ctx)), r, p, a.Probs, scratch, to)
	return nil
}

// BackwardInputs computes the gradients of examples of the inputs.
func (MultiheadAttention[T]) BackwardInputs(_ *op.Ctx, a *mha.Backward[T], r op.Range) error {
	d, e := &a.Dims, a.Attrs.EmbedDim
	for b := r.Lo; b < r.Hi; b++ {
		put := func(to tensor.Grad[T], grad tensor.RW[T], positions, rows int, w tensor.RO[T], size int) {
			blas.Gemm(to.Mat(b*rows*size, rows, size), 1, grad.Mat(b*positions*e, rows, e), w.Mat(0, e, size))
		}
		put(a.GradQuery, a.GradQ, d.Q, d.Q, a.QProj, d.QF)
		put(a.GradKey, a.GradK, d.P, d.S, a.KProj, d.KF)
		put(a.GradValue, a.GradV, d.P, d.S, a.VProj, d.VF)
	}
	return nil
}

// BackwardWeights computes rows of the gradients of projections, and the same elements of those of biases.
func (MultiheadAttention[T]) BackwardWeights(_ *op.Ctx, a *mha.Backward[T], r op.Range) error {
	d, e := &a.Dims, a.Attrs.EmbedDim
	rows := r.Hi - r.Lo
	put := func(number int, to tensor.Grad[T], grad tensor.RW[T], positions, n int, x tensor.RO[T], size int, extra tensor.Grad[T]) {
		blas.GemmSum(to.Mat(r.Lo*size, rows, size), d.B, func(b int) (g, in tensor.ROMat[T]) {
			return grad.Mat(b*positions*e, n, e).ColRange(r.Lo, r.Hi).T(), x.Mat(b*n*size, n, size)
		})
		for i := r.Lo; i < r.Hi; i++ {
			if a.GradInProjBias.Wanted() {
				a.GradInProjBias.Put(number*e+i, T(attention.ColumnTotal(grad.RO(), d.B, positions, e, 0, n, i)))
			}
			if extra.Wanted() {
				extra.Put(i, T(attention.ColumnTotal(grad.RO(), d.B, positions, e, n, n+1, i)))
			}
		}
	}
	put(0, a.GradQProj, a.GradQ, d.Q, d.Q, a.Query, d.QF, tensor.Grad[T]{})
	put(1, a.GradKProj, a.GradK, d.P, d.S, a.Key, d.KF, a.GradBiasK)
	put(2, a.GradVProj, a.GradV, d.P, d.S, a.Value, d.VF, a.GradBiasV)
	all := d.B * d.Q
	blas.Gemm(a.GradOutProj.Mat(r.Lo*e, rows, e), 1, a.GradOutput.Mat(0, all, e).ColRange(r.Lo, r.Hi).T(), a.Context.Mat(0, all, e))
	if a.GradOutProjBias.Wanted() {
		for i := r.Lo; i < r.Hi; i++ {
			a.GradOutProjBias.Put(i, T(attention.ColumnTotal(a.GradOutput, 1, all, e, 0, all, i)))
		}
	}
	return nil
}
