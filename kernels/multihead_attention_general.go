package kernels

import (
	mha "github.com/opgen/opgen/generated/multiheadattentiongeneral"
	"github.com/opgen/opgen/kernels/internal/attention"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/tensor"
)

// MultiheadAttentionGeneral is the kernel of multihead_attention_general.
type MultiheadAttentionGeneral[T dtype.Float] struct{}

func mhagHeads(at *mha.Attrs, d *mha.Dims, iteration int) *attention.Heads {
	return &attention.Heads{
		Heads: at.NumHeads, Queries: d.Q, Positions: d.P, KeySize: at.Kdim, ValueSize: at.Vdim,
		Scale:  at.Scale,
		Rate:   dropRate(at.Dropout, at.Training),
		Source: rng.New(uint64(at.Seed), uint64(iteration)),
	}
}

// ForwardProject projects examples, and appends the additional keys and values.
func (MultiheadAttentionGeneral[T]) ForwardProject(_ *op.Ctx, a *mha.Forward[T], r op.Range) error {
	at, d := &a.Attrs, &a.Dims
	for b := r.Lo; b < r.Hi; b++ {
		project := func(to tensor.RW[T], positions, rows int, x, w tensor.RO[T], size, width, bias int) {
			out := to.Out(b*positions*at.NumHeads*width, rows, at.NumHeads*width, tensor.Store)
			for h := range at.NumHeads {
				blas.Affine(out.ColRange(h*width, (h+1)*width), x.Mat(b*rows*size, rows, size), w.Mat(h*size*width, size, width), optSpan(a.InputBias, bias, bias+width))
			}
		}
		project(a.Q, d.Q, d.Q, a.Query, a.Wq, d.QF, at.Kdim, 0)
		project(a.K, d.P, d.S, a.Key, a.Wk, d.KF, at.Kdim, at.Kdim)
		project(a.V, d.P, d.S, a.Value, a.Wv, d.VF, at.Vdim, 2*at.Kdim)
		keys, values := at.NumHeads*at.Kdim, at.NumHeads*at.Vdim
		attention.Append(a.K, b*d.P*keys, d.P, keys, d.S, a.BiasK)
		attention.Append(a.V, b*d.P*values, d.P, values, d.S, a.BiasV)
	}
	return nil
}

// ForwardAttend computes heads.
func (MultiheadAttentionGeneral[T]) ForwardAttend(ctx *op.Ctx, a *mha.Forward[T], r op.Range) error {
	p := attention.Projections[T]{Query: a.Q.RO(), Key: a.K.RO(), Value: a.V.RO()}
	attention.Forward(mhagHeads(&a.Attrs, &a.Dims, a.Iteration(ctx)), r, p, a.Probs, a.Dropped.Of(ctx.Worker), a.Context)
	return nil
}

// ForwardOutput computes rows of the output: wo is one matrix, with rows for all numbers of all heads.
func (MultiheadAttentionGeneral[T]) ForwardOutput(_ *op.Ctx, a *mha.Forward[T], r op.Range) error {
	rows, e, values := r.Hi-r.Lo, a.Attrs.EmbedDim, a.Attrs.NumHeads*a.Attrs.Vdim
	blas.Affine(a.Output.Mat(r.Lo*e, rows, e), a.Context.Mat(r.Lo*values, rows, values), a.Wo.Mat(0, values, e), optSpan(a.OutputBias, 0, e))
	return nil
}

// BackwardContext computes rows of the gradient of context.
func (MultiheadAttentionGeneral[T]) BackwardContext(_ *op.Ctx, a *mha.Backward[T], r op.Range) error {
	rows, e, values := r.Hi-r.Lo, a.Attrs.EmbedDim, a.Attrs.NumHeads*a.Attrs.Vdim
	blas.Gemm(a.GradContext.Out(r.Lo*values, rows, values, tensor.Store), 1, a.GradOutput.Mat(r.Lo*e, rows, e), a.Wo.Mat(0, values, e).T())
	return nil
}

// BackwardAttend computes the gradients of heads of q, k and v.
func (MultiheadAttentionGeneral[T]) BackwardAttend(ctx *op.Ctx, a *mha.Backward[T], r op.Range) error {
	p := attention.Projections[T]{Query: a.Q, Key: a.K, Value: a.V}
	to := attention.Gradients[T]{Context: a.GradContext.RO(), Query: a.GradQ, Key: a.GradK, Value: a.GradV}
	scratch := attention.Scratch[T]{Dropped: a.Dropped.Of(ctx.Worker), GradProbs: a.GradProbs.Of(ctx.Worker)}
	attention.Backward(mhagHeads(&a.Attrs, &a.Dims, a.Iteration(ctx)), r, p, a.Probs, scratch, to)
	return nil
}

// BackwardInputs computes the gradients of examples of the inputs, to which all heads contribute.
func (MultiheadAttentionGeneral[T]) BackwardInputs(_ *op.Ctx, a *mha.Backward[T], r op.Range) error {
	at, d := &a.Attrs, &a.Dims
	for b := r.Lo; b < r.Hi; b++ {
		put := func(to tensor.Grad[T], grad tensor.RW[T], positions, rows int, w tensor.RO[T], size, width int) {
			blas.GemmSum(to.Mat(b*rows*size, rows, size), at.NumHeads, func(h int) (g, weight tensor.ROMat[T]) {
				g = grad.Mat(b*positions*at.NumHeads*width, rows, at.NumHeads*width).ColRange(h*width, (h+1)*width)
				return g, w.Mat(h*size*width, size, width).T()
			})
		}
		put(a.GradQuery, a.GradQ, d.Q, d.Q, a.Wq, d.QF, at.Kdim)
		put(a.GradKey, a.GradK, d.P, d.S, a.Wk, d.KF, at.Kdim)
		put(a.GradValue, a.GradV, d.P, d.S, a.Wv, d.VF, at.Vdim)
	}
	return nil
}

// BackwardWeights computes heads of the gradients of projections, and of the additional keys and values.
func (MultiheadAttentionGeneral[T]) BackwardWeights(_ *op.Ctx, a *mha.Backward[T], r op.Range) error {
	at, d := &a.Attrs, &a.Dims
	for h := r.Lo; h < r.Hi; h++ {
		put := func(to tensor.Grad[T], grad tensor.RW[T], positions, n int, x tensor.RO[T], size, width int, extra tensor.Grad[T]) {
			all := at.NumHeads * width
			blas.GemmSum(to.Mat(h*size*width, size, width), d.B, func(b int) (in, g tensor.ROMat[T]) {
				return x.Mat(b*n*size, n, size).T(), grad.Mat(b*positions*all, n, all).ColRange(h*width, (h+1)*width)
			})
			if extra.Wanted() {
				for i := h * width; i < (h+1)*width; i++ {
					extra.Put(i, T(attention.ColumnTotal(grad.RO(), d.B, positions, all, n, n+1, i)))
				}
			}
		}
		put(a.GradWq, a.GradQ, d.Q, d.Q, a.Query, d.QF, at.Kdim, tensor.Grad[T]{})
		put(a.GradWk, a.GradK, d.P, d.S, a.Key, d.KF, at.Kdim, a.GradBiasK)
		put(a.GradWv, a.GradV, d.P, d.S, a.Value, d.VF, at.Vdim, a.GradBiasV)
		rows, e, values := d.B*d.Q, at.EmbedDim, at.NumHeads*at.Vdim
		context := a.Context.Mat(0, rows, values).ColRange(h*at.Vdim, (h+1)*at.Vdim)
		blas.Gemm(a.GradWo.Mat(h*at.Vdim*e, at.Vdim, e), 1, context.T(), a.GradOutput.Mat(0, rows, e))
	}
	return nil
}

// BackwardBiases computes the gradients of biases. That of the projections is shared by all heads.
func (MultiheadAttentionGeneral[T]) BackwardBiases(_ *op.Ctx, a *mha.Backward[T], _ op.Range) error {
	at, d := &a.Attrs, &a.Dims
	put := func(grad tensor.RW[T], positions, n, width, bias int) {
		for i := range width {
			var sum float64
			for h := range at.NumHeads {
				sum += attention.ColumnTotal(grad.RO(), d.B, positions, at.NumHeads*width, 0, n, h*width+i)
			}
			a.GradInputBias.Put(bias+i, T(sum))
		}
	}
	put(a.GradQ, d.Q, d.Q, at.Kdim, 0)
	put(a.GradK, d.P, d.S, at.Kdim, at.Kdim)
	put(a.GradV, d.P, d.S, at.Vdim, 2*at.Kdim)
	for i := range at.EmbedDim {
		a.GradOutputBias.Put(i, T(attention.ColumnTotal(a.GradOutput, 1, d.B*d.Q, at.EmbedDim, 0, d.B*d.Q, i)))
	}
	return nil
}
