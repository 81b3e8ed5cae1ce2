package kernels

import (
	transposed "github.com/opgen/opgen/generated/convtranspose2d"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// ConvTranspose2d is the kernel of conv_transpose_2d: the gradient of a convolution with respect to its
// input. The convolution sees images of the size of the output, and gives images of the size of the input. So
// Forward computes what Conv2d computes in BackwardInput, and BackwardInput what Conv2d computes in Forward.
type ConvTranspose2d[T dtype.Float] struct{}

// transposedShape is the geometry of a transposed convolution of one image and group.
type transposedShape struct {
	*transposed.Attrs
	*transposed.Dims
	patch, places, pixels int
}

func transposedForward[T dtype.Float](a *transposed.Forward[T]) transposedShape {
	return transposedShape{&a.Attrs, &a.Dims, a.Patch, a.Places, a.Pixels}
}

func transposedBackward[T dtype.Float](a *transposed.Backward[T]) transposedShape {
	return transposedShape{&a.Attrs, &a.Dims, a.Patch, a.Places, a.Pixels}
}

// input returns the number of the first element of the input of an image and group.
func (s *transposedShape) input(n, group int) int { return (n*s.C + group*s.K) * s.places }

// output returns the number of the first element of the output of an image and group.
func (s *transposedShape) output(n, group int) int { return (n*s.OutChannels + group*s.F) * s.pixels }

// windows returns how filters lie on images of the output: there is a window for each element of an image of the input.
func (s *transposedShape) windows() *vec.Windows {
	return &vec.Windows{Height: s.P, Width: s.Q, KernelH: s.KernelH, KernelW: s.KernelW, StrideH: s.StrideH, StrideW: s.StrideW,
		PaddingH: s.PaddingH, PaddingW: s.PaddingW, DilationH: s.DilationH, DilationW: s.DilationW, Rows: s.H, Cols: s.W}
}

// whole reports whether windows lie on all of the output. Rows that are added below and columns that are
// added on the right may lie beside them.
func (s *transposedShape) whole() bool { return s.OutputPaddingH == 0 && s.OutputPaddingW == 0 }

// direct reports whether windows see single pixels, each of them once, so that an image of the output is the
// matrix of its patches.
func (s *transposedShape) direct() bool {
	return s.KernelH*s.KernelW == 1 && s.StrideH*s.StrideW == 1 && s.PaddingH == 0 && s.PaddingW == 0 && s.whole()
}

// dense reports whether the correlations of package vec compute it, without a copy for each element of a
// filter.
func (s *transposedShape) dense() bool { return !s.direct() && s.whole() && s.windows().Dense() }

// gradPatches returns the patches of an image and group of the gradient of the output as the columns of a
// matrix: the image itself, or a copy in cols.
func gradPatches[T dtype.Float](cols tensor.RW[T], grad tensor.RO[T], s *transposedShape, n, group int) tensor.ROMat[T] {
	first := s.output(n, group)
	if s.direct() {
		return grad.Mat(first, s.patch, s.places)
	}
	vec.Unfold(cols.Span(0, s.patch*s.places).WO(), grad.Span(first, first+s.F*s.pixels), s.F, s.windows())
	return cols.Mat(0, s.patch, s.places)
}

// Forward computes the output of images and groups: each pixel is the sum of the contributions of the
// elements whose window contains it.
func (ConvTranspose2d[T]) Forward(ctx *op.Ctx, a *transposed.Forward[T], r op.Range) error {
	s := transposedForward(a)
	cols := a.Columns.Of(ctx.Worker)
	for i := r.Lo; i < r.Hi; {
		n, group := i/s.Groups, i%s.Groups
		at, first := s.input(n, group), s.output(n, group)
		filter := a.Filter.Mat(group*s.K*s.patch, s.K, s.patch)
		images := 1
		switch {
		case s.direct():
			blas.Gemm(a.Output.Out(first, s.patch, s.places, tensor.Store), 1, filter.T(), a.Input.Mat(at, s.K, s.places))
		case s.dense():
			images = together(s.Groups, r.Hi-i)
			vec.CorrelateBack(a.Output.Out(first, images*s.F, s.pixels, tensor.Store), filter, a.Input.Span(at, at+images*s.K*s.places), s.F, s.windows())
		default:
			blas.Gemm(cols.Out(0, s.patch, s.places, tensor.Store), 1, filter.T(), a.Input.Mat(at, s.K, s.places))
			vec.Fold(a.Output.Out(first, s.F, s.pixels, tensor.Store), cols.Span(0, s.patch*s.places), s.windows())
		}
		if bias, ok := a.Bias.Get(); ok {
			vec.ShiftRows(a.Output.Span(first, first+images*s.F*s.pixels), bias.Span(group*s.F, (group+1)*s.F), s.pixels)
		}
		i += images
	}
	return nil
}

// BackwardInput computes the gradient of the input of images and groups.
func (ConvTranspose2d[T]) BackwardInput(ctx *op.Ctx, a *transposed.Backward[T], r op.Range) error {
	if !a.GradInput.Wanted() {
		return nil
	}
	s := transposedBackward(a)
	cols := a.Columns.Of(ctx.Worker)
	for i := r.Lo; i < r.Hi; {
		n, group := i/s.Groups, i%s.Groups
		at, first := s.input(n, group), s.output(n, group)
		filter := a.Filter.Mat(group*s.K*s.patch, s.K, s.patch)
		images := 1
		if s.dense() {
			images = together(s.Groups, r.Hi-i)
			vec.Correlate(a.GradInput.Mat(at, images*s.K, s.places), filter, a.GradOutput.Span(first, first+images*s.F*s.pixels), s.F, s.windows())
		} else {
			blas.Gemm(a.GradInput.Mat(at, s.K, s.places), 1, filter, gradPatches(cols, a.GradOutput, &s, n, group))
		}
		i += images
	}
	return nil
}

// BackwardParts computes the gradient of filter from parts of the batch.
func (ConvTranspose2d[T]) BackwardParts(ctx *op.Ctx, a *transposed.Backward[T], r op.Range) error {
	if !a.GradFilter.Wanted() {
		return nil
	}
	s := transposedBackward(a)
	cols := a.Columns.Of(ctx.Worker)
	for part := r.Lo; part < r.Hi; part++ {
		mode := tensor.Store
		lo, hi := part*s.N/s.S, (part+1)*s.N/s.S
		if s.Groups == 1 && s.dense() {
			vec.CorrelateFilters(a.Parts.Out(part*s.C*s.patch, s.K, s.patch, mode),
				a.Input.Span(s.input(lo, 0), s.input(hi, 0)), a.GradOutput.Span(s.output(lo, 0), s.output(hi, 0)), s.F, s.windows())
			continue
		}
		for n := lo; n < hi; n++ {
			for group := range s.Groups {
				to := (part*s.C + group*s.K) * s.patch
				blas.Gemm(a.Parts.Out(to, s.K, s.patch, mode), 1, a.Input.Mat(s.input(n, group), s.K, s.places), gradPatches(cols, a.GradOutput, &s, n, group).T())
			}
			mode = tensor.Accumulate
		}
	}
	return nil
}

// BackwardFilter sums the parts of the gradient of filter.
func (ConvTranspose2d[T]) BackwardFilter(_ *op.Ctx, a *transposed.Backward[T], r op.Range) error {
	sumParts(a.GradFilter, a.Parts, a.Dims.S, r.Lo*a.Patch, r.Hi*a.Patch)
	return nil
}

// BackwardBias computes the gradient of bias.
func (ConvTranspose2d[T]) BackwardBias(_ *op.Ctx, a *transposed.Backward[T], r op.Range) error {
	sumPlanes(a.GradBias, a.GradOutput, a.Dims.N, a.Pixels, r.Lo, r.Hi)
	return nil
}
