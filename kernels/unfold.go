package kernels

import (
	"github.com/opgen/opgen/generated/unfold"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Unfold is the kernel of unfold.
type Unfold[T dtype.Float] struct{}

// windowsOf returns how windows lie on a channel of an image.
func windowsOf(a *unfold.Attrs, d *unfold.Dims) *vec.Windows {
	kernel, stride, padding, dilation := a.Kernel.Values(), a.Stride.Values(), a.Padding.Values(), a.Dilation.Values()
	return &vec.Windows{Height: d.H, Width: d.W, KernelH: kernel[0], KernelW: kernel[1], StrideH: stride[0], StrideW: stride[1],
		PaddingH: padding[0], PaddingW: padding[1], DilationH: dilation[0], DilationW: dilation[1], Rows: d.P, Cols: d.Q}
}

// Forward copies the windows of channels.
func (Unfold[T]) Forward(_ *op.Ctx, a *unfold.Forward[T], r op.Range) error {
	w := windowsOf(&a.Attrs, &a.Dims)
	plane, columns := w.Height*w.Width, w.KernelH*w.KernelW*w.Rows*w.Cols
	vec.Unfold(a.Output.Span(r.Lo*columns, r.Hi*columns), a.Input.Span(r.Lo*plane, r.Hi*plane), r.Hi-r.Lo, w)
	return nil
}

// Backward sums, for each pixel of channels, the gradients of the windows that contain it.
func (Unfold[T]) Backward(ctx *op.Ctx, a *unfold.Backward[T], r op.Range) error {
	w := windowsOf(&a.Attrs, &a.Dims)
	plane, columns := w.Height*w.Width, w.KernelH*w.KernelW*w.Rows*w.Cols
	cols := a.Columns.Of(ctx.Worker)
	for i := r.Lo; i < r.Hi; i++ {
		vec.Copy(cols.Span(0, columns).WO(), a.GradOutput.Span(i*columns, (i+1)*columns))
		vec.Fold(a.GradInput.Mat(i*plane, 1, plane), cols.Span(0, columns), w)
	}
	return nil
}
