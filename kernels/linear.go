package kernels

import (
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// Linear is the kernel of linear. Matrices have a row for each of the prod(N) vectors.
type Linear[T dtype.Float] struct{}

// ForwardOutput computes rows and columns of the output.
func (Linear[T]) ForwardOutput(_ *op.Ctx, a *linear.Forward[T], r op.Range) error {
	rows, in, out := r.Hi-r.Lo, a.Dims.K, a.Attrs.OutChannels
	lo, hi := r.Dim(1)
	blas.Gemm(a.Output.Out(r.Lo*out, rows, out, tensor.Store).ColRange(lo, hi), 1, a.Input.Mat(r.Lo*in, rows, in), a.Weight.Mat(lo*in, hi-lo, in).T())
	for i := r.Lo; i < r.Hi; i++ {
		finish(a.Attrs.Activation, a.Output, a.Pre, a.Bias, i*out+lo, i*out+hi, func(k int) int { return k - i*out })
	}
	return nil
}

// ForwardRegularization computes the regularizer's term of the loss.
func (Linear[T]) ForwardRegularization(_ *op.Ctx, a *linear.Forward[T], _ op.Range) error {
	reg, _ := a.Attrs.Regularizer.Get()
	out, _ := a.Regularization.Get()
	out.Set(0, T(reg.Lambda*penaltyOf(reg.Type, a.Weight.Span(0, a.Weight.Len()))))
	return nil
}

// BackwardPre computes rows of the gradient before the activation.
func (Linear[T]) BackwardPre(_ *op.Ctx, a *linear.Backward[T], r op.Range) error {
	out := a.Attrs.OutChannels
	derivative[T]{a.Attrs.Activation, a.Output, a.Pre}.before(a.GradPre, a.GradOutput, r.Lo*out, r.Hi*out)
	return nil
}

// BackwardInput computes rows of the gradient of input.
func (Linear[T]) BackwardInput(_ *op.Ctx, a *linear.Backward[T], r op.Range) error {
	rows, in, out := r.Hi-r.Lo, a.Dims.K, a.Attrs.OutChannels
	blas.Gemm(a.GradInput.Mat(r.Lo*in, rows, in), 1, gradBefore(a.GradPre, a.GradOutput).Mat(r.Lo*out, rows, out), a.Weight.Mat(0, out, in))
	return nil
}

// BackwardWeight computes rows of the gradient of weight, and the same elements of that of bias.
func (k Linear[T]) BackwardWeight(_ *op.Ctx, a *linear.Backward[T], r op.Range) error {
	rows, in, out := shape.Prod(a.Dims.N), a.Dims.K, a.Attrs.OutChannels
	grad := gradBefore(a.GradPre, a.GradOutput)
	if a.GradWeight.Wanted() {
		k.backwardWeight(a, grad.Mat(0, rows, out).ColRange(r.Lo, r.Hi).T(), a.Input.Mat(0, rows, in), r)
	}
	gradOfBias(a.GradBias, grad, index.NewGroups([]int{rows, out}, []int{0}, r.Lo), r)
	return nil
}

// backwardWeight puts grad*input, plus the regularizer's part, into rows of the gradient of weight.
func (Linear[T]) backwardWeight(a *linear.Backward[T], grad, input tensor.ROMat[T], r op.Range) {
	in := a.Dims.K
	to := a.GradWeight.Mat(r.Lo*in, r.Hi-r.Lo, in)
	if reg, ok := a.Attrs.Regularizer.Get(); ok {
		gradReg, _ := a.GradRegularization.Get()
		scale := gradReg.At(0) * T(reg.Lambda)
		for i := r.Lo * in; i < r.Hi*in; i++ {
			a.GradWeight.Put(i, scale*penaltySlope(reg.Type, a.Weight.At(i)))
		}
		to = to.Accumulating()
	}
	blas.Gemm(to, 1, grad, input)
}
