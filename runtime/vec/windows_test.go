package vec_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
	"github.com/opgen/opgen/runtime/vec"
)

// TestWindows compares the pixels that windows see, and the sums of what becomes of them, with those found
// one by one.
func TestWindows(t *testing.T) {
	const planes = 2
	for _, w := range []vec.Windows{
		{Height: 3, Width: 4, KernelH: 1, KernelW: 1, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1},
		{Height: 5, Width: 6, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PaddingH: 1, PaddingW: 1, DilationH: 1, DilationW: 1},
		{Height: 7, Width: 9, KernelH: 2, KernelW: 3, StrideH: 2, StrideW: 3, PaddingH: 1, PaddingW: 2, DilationH: 3, DilationW: 2},
		{Height: 2, Width: 130, KernelH: 2, KernelW: 5, StrideH: 1, StrideW: 2, PaddingW: 7, DilationH: 1, DilationW: 3},
		{Height: 9, Width: 150, KernelH: 3, KernelW: 5, StrideH: 1, StrideW: 1, PaddingH: 2, PaddingW: 4, DilationH: 2, DilationW: 2},
		{Height: 2, Width: 3, KernelH: 7, KernelW: 9, StrideH: 1, StrideW: 1, PaddingH: 3, PaddingW: 4, DilationH: 1, DilationW: 1},
		{Height: 1, Width: 1, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PaddingH: 4, PaddingW: 4, DilationH: 1, DilationW: 1},
	} {
		w.Rows = (w.Height+2*w.PaddingH-(w.KernelH-1)*w.DilationH-1)/w.StrideH + 1
		w.Cols = (w.Width+2*w.PaddingW-(w.KernelW-1)*w.DilationW-1)/w.StrideW + 1
		t.Run(fmt.Sprintf("%+v", w), func(t *testing.T) {
			size, pixels := planes*w.Height*w.Width, w.Rows*w.Cols
			image, sums := make([]float64, size), make([]float64, size)
			for i := range image {
				image[i] = float64(i + 1)
			}
			n := planes * w.KernelH * w.KernelW * pixels
			got, values, want := make([]float64, n), make([]float64, n), make([]float64, n)
			for at := range n {
				values[at] = float64(at % 17)
				row, p, q := at/pixels, at/w.Cols%w.Rows, at%w.Cols
				c, i, j := row/w.KernelW/w.KernelH, row/w.KernelW%w.KernelH, row%w.KernelW
				h, x := p*w.StrideH-w.PaddingH+i*w.DilationH, q*w.StrideW-w.PaddingW+j*w.DilationW
				if h >= 0 && h < w.Height && x >= 0 && x < w.Width {
					want[at] = image[(c*w.Height+h)*w.Width+x]
					sums[(c*w.Height+h)*w.Width+x] += values[at]
				}
				got[at] = -1
			}
			vec.Unfold(tensortest.WO(got, n).Span(0, n), tensortest.RO(image, size).Span(0, size), planes, &w)
			if !slices.Equal(got, want) {
				t.Errorf("unfolded: got %v, want %v", got, want)
			}
			for _, mode := range []tensor.Mode{tensor.Store, tensor.Accumulate, tensor.Discard} {
				folded := slices.Repeat([]float64{1000}, size)
				wantNow := expected(mode, folded, sums)
				vec.Fold(tensortest.RW(folded, size).Out(0, planes, size/planes, mode), tensortest.RW(values, n).Span(0, n), &w)
				if !slices.Equal(folded, wantNow) {
					t.Errorf("folded, mode %v: got %v, want %v", mode, folded, wantNow)
				}
			}
			defer func() {
				if recover() == nil {
					t.Error("too few elements: no panic")
				}
			}()
			vec.Unfold(tensortest.WO(got, n).Span(0, n-1), tensortest.RO(image, size).Span(0, size), planes, &w)
		})
	}
}
