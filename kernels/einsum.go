package kernels

import (
	"slices"

	"github.com/opgen/opgen/generated/einsum"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/box"
	"github.com/opgen/opgen/runtime/contraction"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Einsum is the kernel of einsum. It multiplies the first two inputs, their product by the third one, and so
// on. Each product of two tensors, and each gradient, is a batch of products of matrices, or of sums over
// boxes of elements where these would have few products.
type Einsum[T dtype.Float] struct{}

// ForwardFirst computes a share of the product of the first two inputs.
func (Einsum[T]) ForwardFirst(ctx *op.Ctx, a *einsum.Forward[T], r op.Range) error {
	e, err := einsumForward(ctx, a)
	if err != nil {
		return err
	}
	e.multiply(1, e.partial.WO(), r, e.partial.Len())
	return nil
}

// ForwardMiddle multiplies it by all further inputs but the last.
func (Einsum[T]) ForwardMiddle(ctx *op.Ctx, a *einsum.Forward[T], _ op.Range) error {
	e, err := einsumForward(ctx, a)
	if err != nil || e.chain.Empty {
		return err
	}
	for k := 2; k < e.last(); k++ {
		e.multiply(k, e.partial.WO(), op.Range{Hi: 1}, 1)
	}
	return nil
}

// ForwardLast computes a share of the output.
func (Einsum[T]) ForwardLast(ctx *op.Ctx, a *einsum.Forward[T], r op.Range) error {
	e, err := einsumForward(ctx, a)
	if err != nil {
		return err
	}
	if e.chain.Empty {
		for i := r.Lo; i < r.Hi; i++ {
			a.Output.Set(i, 0)
		}
		return nil
	}
	e.multiply(e.last(), a.Output, r, a.Output.Len())
	return nil
}

// BackwardFirst computes a share of the product of the first two inputs, and of the gradient of the product
// of all inputs but the last.
func (Einsum[T]) BackwardFirst(ctx *op.Ctx, a *einsum.Backward[T], r op.Range) error {
	e, err := einsumBackward(ctx, a)
	if err != nil {
		return err
	}
	if e.wanted(2, e.last()) { // their gradients are computed from the product
		e.multiply(1, e.partial.WO(), r, e.partial.Len())
	}
	if e.wanted(0, e.last()-1) { // and those of inputs in front from its gradient
		e.differentiate(e.last()-1, e.partialGrads.WO(), r, e.partialGrads.Len())
	}
	return nil
}

// BackwardMiddle computes all other partial products and their gradients.
func (Einsum[T]) BackwardMiddle(ctx *op.Ctx, a *einsum.Backward[T], _ op.Range) error {
	e, err := einsumBackward(ctx, a)
	if err != nil || e.chain.Empty {
		return err
	}
	whole := op.Range{Hi: 1}
	for k := 2; k < e.last() && e.wanted(k+1, e.last()); k++ {
		e.multiply(k, e.partial.WO(), whole, 1)
	}
	for k := e.last() - 2; k > 0 && e.wanted(0, k); k-- {
		e.differentiate(k, e.partialGrads.WO(), whole, 1)
	}
	return nil
}

// BackwardLast computes gradients of elements of the inputs, counted one input after the other.
func (Einsum[T]) BackwardLast(ctx *op.Ctx, a *einsum.Backward[T], r op.Range) error {
	e, err := einsumBackward(ctx, a)
	if err != nil {
		return err
	}
	parts(a.Dims.X, r, func(i, lo, hi, _ int) {
		grad := a.GradInput[i]
		if !grad.Wanted() {
			return
		}
		if e.chain.Empty {
			putZeros(grad, lo, hi)
			return
		}
		e.chain.Gaps(i, lo, hi, func(lo, hi int) { putZeros(grad, lo, hi) })
		share := op.Range{Lo: lo, Hi: hi}
		if i == 0 {
			e.differentiate(0, grad, share, grad.Len())
			return
		}
		e.compute(e.chain.InputGradient(i), grad, e.gradient(i), e.result(i-1), share, grad.Len())
	})
	return nil
}

// zerosLength is how many zeros are put at a time.
const zerosLength = 1024

// putZeros puts 0 into elements lo to hi-1 of a gradient.
func putZeros[T dtype.Float](grad tensor.Grad[T], lo, hi int) {
	var zeros [zerosLength]T
	for ; lo < hi; lo += zerosLength {
		n := min(zerosLength, hi-lo)
		grad.Span(lo, lo+n).PutAll(0, zeros[:n])
	}
}

// equationOf is an equation with its tensors.
type equationOf[T dtype.Float] struct {
	chain   *contraction.Chain
	inputs  []tensor.RO[T]
	partial tensor.RW[T] // products of the first inputs
	blocks  tensor.RW[T] // of the worker

	// Of backward only:
	gradInputs   []tensor.Grad[T]
	gradOutput   tensor.RO[T]
	partialGrads tensor.RW[T]
}

func einsumForward[T dtype.Float](ctx *op.Ctx, a *einsum.Forward[T]) (*equationOf[T], error) {
	c, err := contraction.NewChain(a.Terms, a.Dims.X)
	return &equationOf[T]{chain: c, inputs: a.Input, partial: a.Partial, blocks: a.Blocks.Of(ctx.Worker)}, err
}

func einsumBackward[T dtype.Float](ctx *op.Ctx, a *einsum.Backward[T]) (*equationOf[T], error) {
	c, err := contraction.NewChain(a.Terms, a.Dims.X)
	return &equationOf[T]{c, a.Input, a.Partial, a.Blocks.Of(ctx.Worker), a.GradInput, a.GradOutput, a.PartialGrads}, err
}

// last returns the number of the product that gives the output. Product k is that of result k-1 and input k.
func (e *equationOf[T]) last() int { return max(len(e.inputs)-1, 1) }

// result returns the tensor that holds the result of product k, or the first input.
func (e *equationOf[T]) result(k int) tensor.RO[T] {
	if k == 0 {
		return e.inputs[0]
	}
	return e.partial.RO()
}

// gradient returns the tensor that holds the gradient of the result of product k.
func (e *equationOf[T]) gradient(k int) tensor.RO[T] {
	if k == e.last() {
		return e.gradOutput
	}
	return e.partialGrads.RO()
}

// input returns an input, or no tensor if there are not as many.
func (e *equationOf[T]) input(k int) (x tensor.RO[T]) {
	if k < len(e.inputs) {
		x = e.inputs[k]
	}
	return x
}

// wanted reports whether the gradient of one of the inputs lo to hi is used.
func (e *equationOf[T]) wanted(lo, hi int) bool {
	return slices.ContainsFunc(e.gradInputs[lo:hi+1], tensor.Grad[T].Wanted)
}

// multiply computes a share of product k.
func (e *equationOf[T]) multiply(k int, c target[T], share op.Range, all int) {
	e.compute(e.chain.Product(k), c, e.result(k-1), e.input(k), share, all)
}

// differentiate computes a share of the gradient of result k, from that of result k+1.
func (e *equationOf[T]) differentiate(k int, c target[T], share op.Range, all int) {
	e.compute(e.chain.ResultGradient(k), c, e.gradient(k+1), e.input(k+1), share, all)
}

// compute computes the parts of a product that belong to a share of all indices of a step.
func (e *equationOf[T]) compute(plan *contraction.Product, c target[T], a, b tensor.RO[T], share op.Range, all int) {
	p := pairProduct[T]{plan, c, a, b, e.blocks}
	if p.Flipped {
		p.a, p.b = b, a
	}
	i, end := contraction.Share(p.Parts(), share.Lo, share.Hi, all)
	for i < end {
		var batch, rows, cols contraction.Block
		if batch, rows, cols, i = p.Part(i, end); p.Gemm {
			p.multiply(batch, rows, cols)
		} else {
			p.sum(batch)
		}
	}
}

// target is a tensor that receives results.
type target[T dtype.Float] interface {
	Len() int
	Mat(lo, rows, cols int) tensor.OutMat[T]
}

// pairProduct is a product of two tensors, or of one alone, that is being computed.
type pairProduct[T dtype.Float] struct {
	*contraction.Product
	c      target[T]
	a, b   tensor.RO[T]
	blocks tensor.RW[T]
}

// rowOf returns the elements of a target from one on, as a row.
func rowOf[T dtype.Float](c target[T], from int) tensor.OutMat[T] {
	return c.Mat(from, 1, c.Len()-from)
}

// sum computes a part by sums over boxes.
func (p *pairProduct[T]) sum(part contraction.Block) {
	c, axes := rowOf(p.c, part.C), part.Axes
	if p.MatC.Copied {
		c, axes = p.blocks.Out(0, 1, part.Size(), tensor.Store), p.Kept(part)
	}
	axes = slices.Concat(axes, p.Sum.Axes)
	a := p.a.Span(part.A, p.a.Len())
	if p.Alone {
		box.PutSums(c, a, axes)
	} else {
		box.PutProducts(c, a, p.b.Span(part.B, p.b.Len()), axes)
	}
	if p.MatC.Copied {
		p.spread(0, part, contraction.Block{}, contraction.Block{}, part.C)
	}
}

// spread puts copies of blocks of the result, which begin at an element of the worker's memory, into the
// target.
func (p *pairProduct[T]) spread(from int, batch, rows, cols contraction.Block, to int) {
	n := batch.Size() * rows.Size() * cols.Size()
	box.Put(rowOf(p.c, to), p.blocks.RO().Span(from, from+n), p.CopyC(batch, rows, cols))
}

// multiply computes a part by products of matrices.
func (p *pairProduct[T]) multiply(batch, rows, cols contraction.Block) {
	m, n := rows.Size(), cols.Size()
	copyB := p.MatA.Size // where copies begin
	copyC := copyB + p.MatB.Size
	toC := batch.C + rows.C + cols.C
	mode := tensor.Store
	for i := range p.Sum.Parts() {
		sum := p.Sum.Block(i, 1)
		k := sum.Size()
		fromA, fromB := batch.A+rows.A+sum.A, batch.B+cols.B+sum.B
		if p.MatA.Copied {
			box.PutSums(p.blocks.Out(0, 1, batch.Size()*m*k, tensor.Store), p.a.Span(fromA, p.a.Len()), p.CopyA(batch, rows, sum))
		}
		if p.MatB.Copied {
			box.PutSums(p.blocks.Out(copyB, 1, batch.Size()*k*n, tensor.Store), p.b.Span(fromB, p.b.Len()), p.CopyB(batch, sum, cols))
		}
		for j := range batch.Size() {
			atC, atA, atB := batch.Index(j)
			a := p.matrix(p.MatA, p.a, fromA+atA, j*m*k, m, k)
			b := p.matrix(p.MatB, p.b, fromB+atB, copyB+j*k*n, k, n)
			blas.Gemm(p.result(toC+atC, copyC+j*m*n, m, n, mode), 1, a, b)
		}
		mode = tensor.Accumulate
	}
	if p.MatC.Copied {
		p.spread(copyC, batch, rows, cols, toC)
	}
}

// matrix returns the matrix that begins at an element of a tensor, or that was copied to an element of the
// worker's memory.
func (p *pairProduct[T]) matrix(how contraction.Matrix, x tensor.RO[T], at, copied, rows, cols int) tensor.ROMat[T] {
	if how.Transposed {
		how.Transposed = false
		return p.matrix(how, x, at, copied, cols, rows).T()
	}
	if how.Copied {
		return p.blocks.Mat(copied, rows, cols)
	}
	begin, first, width := how.Place(at, rows, cols, x.Len())
	return x.Mat(begin, rows, width).ColRange(first, first+cols)
}

// result returns the matrix of the target that begins at an element, or the one at an element of the worker's
// memory.
func (p *pairProduct[T]) result(at, copied, rows, cols int, mode tensor.Mode) tensor.OutMat[T] {
	if p.MatC.Copied {
		return p.blocks.Out(copied, rows, cols, mode)
	}
	begin, first, width := p.MatC.Place(at, rows, cols, p.c.Len())
	return p.c.Mat(begin, rows, width).ColRange(first, first+cols)
}
