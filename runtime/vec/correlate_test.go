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

// TestCorrelate compares what filters give for windows, and its gradient for the image, with sums of products one by one. The elements are small
// integers, so sums are exact.
func TestCorrelate(t *testing.T) {
	for _, w := range []vec.Windows{
		{Height: 3, Width: 4, KernelH: 1, KernelW: 1, DilationH: 1, DilationW: 1},
		{Height: 8, Width: 8, KernelH: 3, KernelW: 3, PaddingH: 1, PaddingW: 1, DilationH: 1, DilationW: 1},
		{Height: 5, Width: 70, KernelH: 2, KernelW: 3, PaddingW: 2, DilationH: 3, DilationW: 2},
		{Height: 9, Width: 40, KernelH: 5, KernelW: 4, PaddingH: 4, PaddingW: 1, DilationH: 1, DilationW: 1},
		{Height: 2, Width: 3, KernelH: 7, KernelW: 9, PaddingH: 3, PaddingW: 4, DilationH: 1, DilationW: 1},
	} {
		w.StrideH, w.StrideW = 1, 1
		w.Rows, w.Cols = w.Height+2*w.PaddingH-(w.KernelH-1)*w.DilationH, w.Width+2*w.PaddingW-(w.KernelW-1)*w.DilationW
		if !w.Dense() {
			t.Fatalf("%+v is not dense", w)
		}
		for _, s := range [][2]int{{1, 1}, {3, 5}, {17, 40}, {40, 9}} {
			t.Run(fmt.Sprintf("%+v, %d planes, %d filters", w, s[0], s[1]), func(t *testing.T) {
				correlate[float32](t, &w, s[0], s[1])
				correlate[float64](t, &w, s[0], s[1])
			})
		}
	}
}

func correlate[T float32 | float64](t *testing.T, w *vec.Windows, planes, filters int) {
	r := rand.New(rand.NewPCG(1, uint64(planes)))
	draw := func(n int) []T {
		out := make([]T, n)
		for i := range out {
			out[i] = T(r.IntN(9) - 4)
		}
		return out
	}
	patch, pixels, size := planes*w.KernelH*w.KernelW, w.Rows*w.Cols, planes*w.Height*w.Width
	image, filter, grad := draw(size), draw(filters*patch), draw(filters*pixels)
	want, back := make([]T, filters*pixels), make([]T, size)
	for at := range patch * pixels {
		row, p, q := at/pixels, at/w.Cols%w.Rows, at%w.Cols
		c, i, j := row/w.KernelW/w.KernelH, row/w.KernelW%w.KernelH, row%w.KernelW
		h, x := p-w.PaddingH+i*w.DilationH, q-w.PaddingW+j*w.DilationW
		if h < 0 || h >= w.Height || x < 0 || x >= w.Width {
			continue
		}
		pixel := (c*w.Height+h)*w.Width + x
		for o := range filters {
			want[o*pixels+at%pixels] += filter[o*patch+row] * image[pixel]
			back[pixel] += filter[o*patch+row] * grad[o*pixels+at%pixels]
		}
	}
	f := tensortest.RO(filter, len(filter)).Mat(0, filters, patch)
	for _, mode := range []tensor.Mode{tensor.Store, tensor.Accumulate, tensor.Discard} {
		got, gotBack := draw(len(want)), draw(len(back))
		wantNow, backNow := expected(mode, got, want), expected(mode, gotBack, back)
		vec.Correlate(tensortest.RW(got, len(got)).Out(0, filters, pixels, mode), f, tensortest.RO(image, size).Span(0, size), planes, w)
		if !slices.Equal(got, wantNow) {
			t.Fatalf("%T, mode %v: want %v, got %v", got, mode, wantNow, got)
		}
		vec.CorrelateBack(tensortest.RW(gotBack, size).Out(0, planes, w.Height*w.Width, mode), f, tensortest.RO(grad, len(grad)).Span(0, len(grad)), planes, w)
		if !slices.Equal(gotBack, backNow) {
			t.Fatalf("%T, gradient, mode %v: want %v, got %v", got, mode, backNow, gotBack)
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
		"windows":   func() { vec.Correlate(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 16), 1, &far) },
		"planes":    func() { vec.Correlate(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 32), 2, &w) },
		"image":     func() { vec.Correlate(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 15), 1, &w) },
		"result":    func() { vec.Correlate(out.Out(0, 2, 8, tensor.Store), filters, image.Span(0, 16), 1, &w) },
		"gradient":  func() { vec.CorrelateBack(out.Out(0, 1, 16, tensor.Store), filters, image.Span(0, 9), 1, &w) },
		"back":      func() { vec.CorrelateBack(out.Out(0, 1, 15, tensor.Store), filters, image.Span(0, 18), 1, &w) },
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
