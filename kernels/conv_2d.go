package kernels

import (
	conv2d "github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// Conv2d is the kernel of conv_2d. It convolves by matrix products. If windows are one pixel apart, tiles of
// the product read pixels from copies of image rows. Otherwise the windows become the columns of a matrix,
// for each image and group (im2col). Filters of groups of one channel are correlated with their planes.
type Conv2d[T dtype.Float] struct{}

// convShape is the geometry of a convolution of one image and group.
type convShape struct {
	*conv2d.Attrs
	*conv2d.Dims
	channels, filters int // of a group
	patch, pixels     int
}

func convForward[T dtype.Float](a *conv2d.Forward[T]) convShape {
	return convShape{&a.Attrs, &a.Dims, a.Channels, a.Filters, a.Patch, a.Pixels}
}

func convBackward[T dtype.Float](a *conv2d.Backward[T]) convShape {
	return convShape{&a.Attrs, &a.Dims, a.Channels, a.Filters, a.Patch, a.Pixels}
}

// image returns the number of the first element of the input of an image and group.
func (s *convShape) image(n, group int) int { return (n*s.C + group*s.channels) * s.H * s.W }

// output returns the number of the first element of the output of an image and group.
func (s *convShape) output(n, group int) int {
	return (n*s.OutChannels + group*s.filters) * s.pixels
}

// direct reports whether filters see single pixels, each of them once, so that an image is the matrix of its
// patches.
func (s *convShape) direct() bool {
	return s.KernelH*s.KernelW == 1 && s.StrideH*s.StrideW == 1 && s.PaddingH == 0 && s.PaddingW == 0
}

// together returns how many of n neighboring images and groups have the same filters.
func together(groups, n int) int {
	if groups == 1 {
		return n
	}
	return 1
}

// windows returns how filters lie on images.
func (s *convShape) windows() *vec.Windows {
	return &vec.Windows{Height: s.H, Width: s.W, KernelH: s.KernelH, KernelW: s.KernelW, StrideH: s.StrideH, StrideW: s.StrideW,
		PaddingH: s.PaddingH, PaddingW: s.PaddingW, DilationH: s.DilationH, DilationW: s.DilationW, Rows: s.P, Cols: s.Q}
}

// fewPixels is up to how many pixels of the output of an image are columns of a product with patches. To
// multiply filters as they lie takes less time then than to copy them for tiles.
const fewPixels = 4

// manyFilters is the least number of filters for which few pixels are columns of a product. With fewer,
// windows of all images together are faster: 2 to 3 times with 8 filters of 64 channels, and 1.1 times with
// 48.
const manyFilters = 64

// patches returns what windows of rows lo to hi-1 of an image and group see, as the columns of a matrix:
// those of the image itself, or a copy in cols.
func patches[T dtype.Float](cols tensor.RW[T], input tensor.RO[T], s *convShape, n, group, lo, hi int) tensor.ROMat[T] {
	first, pixels := s.image(n, group), (hi-lo)*s.Q
	if s.direct() {
		return input.Mat(first, s.patch, s.pixels).ColRange(lo*s.Q, hi*s.Q)
	}
	vec.Unfold(cols.Span(0, s.patch*pixels).WO(), input.Span(first, first+s.channels*s.H*s.W), s.channels, s.windows().Part(lo, hi))
	return cols.Mat(0, s.patch, pixels)
}

// Forward computes pairs of rows of the output of images and groups.
func (Conv2d[T]) Forward(ctx *op.Ctx, a *conv2d.Forward[T], r op.Range) error {
	s := convForward(a)
	cols := a.Columns.Of(ctx.Worker)
	w := s.windows()
	begin, end := r.Dim(1)
	lo, hi := r.Dim(2)
	lo, hi = 2*lo, min(2*hi, s.P)
	for n, group := r.Lo, begin; n < r.Hi; {
		images, groups := 1, 1
		filter := a.Filter.Mat(group*s.filters*s.patch, s.filters, s.patch)
		at, first := s.image(n, group), s.output(n, group)
		output := func(rows int) tensor.OutMat[T] {
			return a.Output.Out(first, rows, s.pixels, tensor.Store).ColRange(lo*s.Q, hi*s.Q)
		}
		switch {
		case s.channels == 1 && s.Groups > 1 && w.Single():
			groups = end - group
			filters := a.Filter.Mat(group*s.filters*s.patch, groups*s.filters, s.patch)
			vec.CorrelatePlanes(output(groups*s.filters), filters, a.Input.Span(at, at+groups*s.H*s.W), groups, w.Part(lo, hi))
		case !s.direct() && w.Dense() && (s.pixels > fewPixels || s.filters < manyFilters):
			images = together(s.Groups, r.Hi-n)
			vec.CorrelateRows(output(images*s.filters), filter, a.Input.Span(at, at+images*s.channels*s.H*s.W), s.channels, w, lo, hi)
		default:
			blas.Gemm(output(s.filters), 1, filter, patches(cols, a.Input, &s, n, group, lo, hi))
		}
		channels := groups * s.filters
		if planes := images * channels; hi-lo == s.P {
			finish(s.Activation, a.Output, a.Pre, a.Bias, group*s.filters, channels, first, planes, s.pixels)
		} else {
			for i := range planes {
				finish(s.Activation, a.Output, a.Pre, a.Bias, group*s.filters+i%channels, 1, first+i*s.pixels+lo*s.Q, 1, (hi-lo)*s.Q)
			}
		}
		if group += groups; group == end {
			n, group = n+images, begin
		}
	}
	return nil
}

// BackwardPre computes images of the gradient before the activation.
func (Conv2d[T]) BackwardPre(_ *op.Ctx, a *conv2d.Backward[T], r op.Range) error {
	derivative[T]{a.Attrs.Activation, a.Output, a.Pre}.before(a.GradPre, a.GradOutput, r.Lo*a.Pixels, r.Hi*a.Pixels)
	return nil
}

// BackwardInput computes the gradient of the input of images and groups: the gradients of the columns, summed
// for each pixel.
func (Conv2d[T]) BackwardInput(ctx *op.Ctx, a *conv2d.Backward[T], r op.Range) error {
	if !a.GradInput.Wanted() {
		return nil
	}
	s := convBackward(a)
	cols := a.Columns.Of(ctx.Worker)
	for i := r.Lo; i < r.Hi; i++ {
		n, group := i/s.Groups, i%s.Groups
		first := s.image(n, group)
		filter := a.Filter.Mat(group*s.filters*s.patch, s.filters, s.patch)
		grad := gradBefore(a.GradPre, a.GradOutput)
		if s.direct() {
			blas.Gemm(a.GradInput.Mat(first, s.patch, s.pixels), 1, filter.T(), grad.Mat(s.output(n, group), s.filters, s.pixels))
			continue
		}
		if w := s.windows(); w.Dense() {
			images, at := together(s.Groups, r.Hi-i), s.output(n, group)
			vec.CorrelateBack(a.GradInput.Mat(first, images*s.channels, s.H*s.W), filter, grad.Span(at, at+images*s.filters*s.pixels), s.channels, w)
			i += images - 1
			continue
		}
		blas.Gemm(cols.Out(0, s.patch, s.pixels, tensor.Store), 1, filter.T(), grad.Mat(s.output(n, group), s.filters, s.pixels))
		vec.Fold(a.GradInput.Mat(first, s.channels, s.H*s.W), cols.Span(0, s.patch*s.pixels), s.windows())
	}
	return nil
}

// BackwardParts computes the gradient of filter from parts of the batch.
func (Conv2d[T]) BackwardParts(ctx *op.Ctx, a *conv2d.Backward[T], r op.Range) error {
	if !a.GradFilter.Wanted() {
		return nil
	}
	s := convBackward(a)
	cols := a.Columns.Of(ctx.Worker)
	w := s.windows()
	for part := r.Lo; part < r.Hi; part++ {
		mode := tensor.Store
		lo, hi := part*s.N/s.S, (part+1)*s.N/s.S
		if s.Groups == 1 && !s.direct() && w.Dense() {
			image, at := s.channels*s.H*s.W, s.filters*s.pixels
			vec.CorrelateFilters(a.Parts.Out(part*s.OutChannels*s.patch, s.filters, s.patch, mode),
				gradBefore(a.GradPre, a.GradOutput).Span(lo*at, hi*at), a.Input.Span(lo*image, hi*image), s.channels, w)
			continue
		}
		for n := lo; n < hi; n++ {
			for group := range s.Groups {
				to := (part*s.OutChannels + group*s.filters) * s.patch
				blas.Gemm(a.Parts.Out(to, s.filters, s.patch, mode), 1,
					gradBefore(a.GradPre, a.GradOutput).Mat(s.output(n, group), s.filters, s.pixels), patches(cols, a.Input, &s, n, group, 0, s.P).T())
			}
			mode = tensor.Accumulate
		}
	}
	return nil
}

// BackwardFilter sums the parts of the gradient of filter, and computes that of bias.
func (Conv2d[T]) BackwardFilter(_ *op.Ctx, a *conv2d.Backward[T], r op.Range) error {
	sumParts(a.GradFilter, a.Parts, a.Dims.S, r.Lo*a.Patch, r.Hi*a.Patch)
	sumPlanes(a.GradBias, gradBefore(a.GradPre, a.GradOutput), a.Dims.N, a.Pixels, r.Lo, r.Hi)
	return nil
}

// sumParts puts elements lo to hi-1 of a gradient, which are the sums of those of the given number of parts.
// It leaves the sums in the first part.
func sumParts[T dtype.Float](grad tensor.Grad[T], parts tensor.RW[T], n, lo, hi int) {
	if !grad.Wanted() {
		return
	}
	for i := lo; i < hi && n == 0; i++ { // there are no images
		grad.Put(i, 0)
	}
	for part := 1; part < n; part++ {
		vec.Add(parts.Span(lo, hi), parts.RO().Span(part*grad.Len()+lo, part*grad.Len()+hi))
	}
	if n > 0 {
		vec.Put(grad.Span(lo, hi), parts.RO().Span(lo, hi))
	}
}

// sumPlanes puts elements lo to hi-1 of the gradient of a bias, which are the sums of their planes of grad in
// all images.
func sumPlanes[T dtype.Float](bias tensor.Grad[T], grad tensor.RO[T], images, pixels, lo, hi int) {
	for o := lo; o < hi && bias.Wanted(); o++ {
		var sum float64
		for n := range images {
			first := (n*bias.Len() + o) * pixels
			sum += vec.Total(grad.Span(first, first+pixels))
		}
		bias.Put(o, T(sum))
	}
}
