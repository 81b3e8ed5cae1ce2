package vec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
	"github.com/opgen/opgen/runtime/vec"
)

// TestCorrelate compares what filters give for windows of images, and its gradients for the images and the
// filters, with sums of products one by one. The elements are small integers, so sums are exact.
func TestCorrelate(t *testing.T) {
	for _, w := range []vec.Windows{
		{Height: 3, Width: 4, KernelH: 1, KernelW: 1, DilationH: 1, DilationW: 1},
		{Height: 8, Width: 8, KernelH: 3, KernelW: 3, PaddingH: 1, PaddingW: 1, DilationH: 1, DilationW: 1},
		{Height: 5, Width: 70, KernelH: 2, KernelW: 3, PaddingW: 2, DilationH: 3, DilationW: 2},
		{Height: 9, Width: 40, KernelH: 5, KernelW: 4, PaddingH: 4, PaddingW: 1, DilationH: 1, DilationW: 1},
		{Height: 60, Width: 30, KernelH: 3, KernelW: 3, PaddingH: 1, PaddingW: 1, DilationH: 1, DilationW: 1}, // strips
		{Height: 70, Width: 31, KernelH: 3, KernelW: 5, PaddingH: 4, DilationH: 2, DilationW: 3},
		{Height: 30, Width: 29, KernelH: 3, KernelW: 3, PaddingH: 1, PaddingW: 2, DilationH: 1, DilationW: 1}, // few products
		{Width: 3, KernelH: 3, KernelW: 2, PaddingH: 2, PaddingW: 1, DilationH: 1, DilationW: 1},              // only padding
		{Height: 2, Width: 3, KernelH: 7, KernelW: 9, PaddingH: 3, PaddingW: 4, DilationH: 1, DilationW: 1},
	} {
		w.StrideH, w.StrideW = 1, 1
		w.Rows, w.Cols = w.Height+2*w.PaddingH-(w.KernelH-1)*w.DilationH, w.Width+2*w.PaddingW-(w.KernelW-1)*w.DilationW
		if !w.Dense() {
			t.Fatalf("%+v is not dense", w)
		}
		for _, s := range [][2]int{{1, 1}, {3, 5}, {17, 40}, {40, 9}, {30, 3}, {11, 8}, {0, 2}, {2, 0}} {
			t.Run(fmt.Sprintf("%+v, %d planes, %d filters", w, s[0], s[1]), func(t *testing.T) {
				for images := range 3 {
					correlate[float32](t, &w, images, s[0], s[1])
					correlate[float64](t, &w, images, s[0], s[1])
				}
			})
		}
	}
}

func correlate[T float32 | float64](t *testing.T, w *vec.Windows, images, planes, filters int) {
	r := rand.New(rand.NewPCG(1, uint64(planes)))
	draw := func(n int) []T {
		out := make([]T, n)
		for i := range out {
			out[i] = T(r.IntN(9) - 4)
		}
		return out
	}
	patch, pixels, size := planes*w.KernelH*w.KernelW, w.Rows*w.Cols, planes*w.Height*w.Width
	image, filter, grad := draw(images*size), draw(filters*patch), draw(images*filters*pixels)
	want, back, gradFilter := make([]T, images*filters*pixels), make([]T, images*size), make([]T, filters*patch)
	for at := range images * patch * pixels {
		n, row, p, q := at/pixels/patch, at/pixels%patch, at/w.Cols%w.Rows, at%w.Cols
		c, i, j := row/w.KernelW/w.KernelH, row/w.KernelW%w.KernelH, row%w.KernelW
		h, x := p-w.PaddingH+i*w.DilationH, q-w.PaddingW+j*w.DilationW
		if h < 0 || h >= w.Height || x < 0 || x >= w.Width {
			continue
		}
		pixel := n*size + (c*w.Height+h)*w.Width + x
		for o := range filters {
			window := (n*filters+o)*pixels + at%pixels
			want[window] += filter[o*patch+row] * image[pixel]
			back[pixel] += filter[o*patch+row] * grad[window]
			gradFilter[o*patch+row] += image[pixel] * grad[window]
		}
	}
	f := tensortest.RO(filter, len(filter)).Mat(0, filters, patch)
	imageLane, gradLane := tensortest.RO(image, len(image)).Span(0, len(image)), tensortest.RO(grad, len(grad)).Span(0, len(grad))
	for _, mode := range []tensor.Mode{tensor.Store, tensor.Accumulate, tensor.Discard} {
		for _, x := range []struct {
			name       string
			want       []T
			rows, cols int
			compute    func(dst tensor.OutMat[T])
		}{
			{"result", want, images * filters, pixels, func(dst tensor.OutMat[T]) { vec.Correlate(dst, f, imageLane, planes, w) }},
			{"gradient of the images", back, images * planes, w.Height * w.Width, func(dst tensor.OutMat[T]) { vec.CorrelateBack(dst, f, gradLane, planes, w) }},
			{"gradient of the filters", gradFilter, filters, patch, func(dst tensor.OutMat[T]) { vec.CorrelateFilters(dst, gradLane, imageLane, planes, w) }},
		} {
			got := draw(len(x.want))
			wantNow := expected(mode, got, x.want)
			x.compute(tensortest.RW(got, len(got)).Out(0, x.rows, x.cols, mode))
			if !slices.Equal(got, wantNow) {
				t.Fatalf("%T, %d images, %s, mode %v: want %v, got %v", got, images, x.name, mode, wantNow, got)
			}
		}
	}
}

// expected returns what a tensor holds after a result was put into it.
func expected[T float32 | float64](mode tensor.Mode, before, result []T) []T {
	out := slices.Clone(before)
	for i, v := range result {
		switch mode {
		case tensor.Store:
			out[i] = v
		case tensor.Accumulate:
			out[i] += v
		}
	}
	return out
}

// TestCorrelateChecks gives windows and tensors that do not fit together.
func TestCorrelateChecks(t *testing.T) {
	w := vec.Windows{Height: 4, Width: 4, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Rows: 3, Cols: 3}
	far := w
	far.StrideW = 2
	padded := vec.Windows{Height: 1, Width: 1, KernelH: 1, KernelW: 1, StrideH: 1, StrideW: 1, PaddingW: 1, DilationH: 1, DilationW: 1, Rows: 1, Cols: 3}
	if padded.Dense() || far.Dense() {
		t.Error("windows two pixels apart, or in the padding, are dense")
	}
	memory, result := make([]float32, 100), make([]float32, 100)
	image, filters := tensortest.RO(memory, 100), tensortest.RO(memory, 100).Mat(0, 2, 4)
	out := tensortest.RW(result, 100)
	for name, f := range map[string]func(){
		"windows":  func() { vec.Correlate(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 16), 1, &far) },
		"planes":   func() { vec.Correlate(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 32), 2, &w) },
		"image":    func() { vec.Correlate(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 15), 1, &w) },
		"result":   func() { vec.Correlate(out.Out(0, 2, 8, tensor.Store), filters, image.Span(0, 16), 1, &w) },
		"gradient": func() { vec.CorrelateBack(out.Out(0, 1, 16, tensor.Store), filters, image.Span(0, 9), 1, &w) },
		"back":     func() { vec.CorrelateBack(out.Out(0, 1, 15, tensor.Store), filters, image.Span(0, 18), 1, &w) },
		"filters": func() {
			vec.CorrelateFilters(out.Out(0, 2, 4, tensor.Store), image.Span(0, 18), image.Span(0, 32), 1, &w)
		},
		"filter": func() {
			vec.CorrelateFilters(out.Out(0, 2, 3, tensor.Store), image.Span(0, 18), image.Span(0, 16), 1, &w)
		},
		"back, far": func() { vec.CorrelateBack(out.Out(0, 1, 16, tensor.Store), filters, image.Span(0, 18), 1, &far) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
