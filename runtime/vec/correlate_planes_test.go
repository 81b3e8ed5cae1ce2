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

// TestCorrelatePlanes compares what filters of single planes give with sums of products one by one. The
// elements are small integers, so sums are exact.
func TestCorrelatePlanes(t *testing.T) {
	for _, w := range []vec.Windows{
		{Height: 3, Width: 4, KernelH: 1, KernelW: 1},
		{Height: 12, Width: 80, KernelH: 5, KernelW: 5, PaddingH: 2, PaddingW: 2},
		{Height: 6, Width: 37, KernelH: 3, KernelW: 3, PaddingH: 1, PaddingW: 1, StrideH: 2},
		{Height: 7, Width: 9, KernelH: 3, KernelW: 3, PaddingH: 1, PaddingW: 1, StrideH: 2, StrideW: 2},
		{Height: 9, Width: 70, KernelH: 2, KernelW: 4, PaddingW: 3, StrideW: 3, DilationH: 3, DilationW: 2},
		{Height: 5, Width: 11, KernelH: 2, KernelW: 2, StrideH: 4, StrideW: 5},               // windows do not touch
		{Height: 90, Width: 300, KernelH: 3, KernelW: 3, PaddingH: 1, PaddingW: 1},           // strips
		{Height: 70, Width: 150, KernelH: 7, KernelW: 1, PaddingH: 9, StrideH: 3},            // strips in the padding
		{Width: 3, KernelH: 3, KernelW: 2, PaddingH: 2, PaddingW: 1},                         // only padding
		{Height: 1, Width: 2, KernelH: 2, KernelW: 2, PaddingH: 4, PaddingW: 20, StrideW: 9}, // windows beside the plane
		{Height: 4, Width: 5, KernelH: 3, KernelW: 3, DilationW: 2, PaddingW: 2, StrideW: 4}, // a stride and a dilation
	} {
		w.StrideH, w.StrideW, w.DilationH, w.DilationW = max(w.StrideH, 1), max(w.StrideW, 1), max(w.DilationH, 1), max(w.DilationW, 1)
		w.Rows = (w.Height+2*w.PaddingH-(w.KernelH-1)*w.DilationH-1)/w.StrideH + 1
		w.Cols = (w.Width+2*w.PaddingW-(w.KernelW-1)*w.DilationW-1)/w.StrideW + 1
		for _, s := range [][2]int{{1, 1}, {3, 2}, {2, 0}, {0, 1}} {
			t.Run(fmt.Sprintf("%+v, %d planes, %d filters each", w, s[0], s[1]), func(t *testing.T) {
				correlatePlanes[float32](t, &w, s[0], s[1])
				correlatePlanes[float64](t, &w, s[0], s[1])
			})
		}
	}
}

func correlatePlanes[T float32 | float64](t *testing.T, w *vec.Windows, planes, each int) {
	r := rand.New(rand.NewPCG(1, uint64(planes)))
	draw := func(n int) []T {
		out := make([]T, n)
		for i := range out {
			out[i] = T(r.IntN(9) - 4)
		}
		return out
	}
	size, patch, rows := w.Height*w.Width, w.KernelH*w.KernelW, planes*each
	image, filter := draw(planes*size), draw(rows*patch)
	want := make([]T, rows*w.Rows*w.Cols)
	for at := range want {
		o, p, q := at/w.Rows/w.Cols, at/w.Cols%w.Rows, at%w.Cols
		for e := range patch {
			h, x := p*w.StrideH-w.PaddingH+e/w.KernelW*w.DilationH, q*w.StrideW-w.PaddingW+e%w.KernelW*w.DilationW
			if h >= 0 && h < w.Height && x >= 0 && x < w.Width {
				want[at] += filter[o*patch+e] * image[o/each*size+h*w.Width+x]
			}
		}
	}
	f, lane := tensortest.RO(filter, len(filter)).Mat(0, rows, patch), tensortest.RO(image, len(image)).Span(0, len(image))
	for _, mode := range []tensor.Mode{tensor.Store, tensor.Accumulate, tensor.Discard} {
		got := draw(len(want))
		wantNow := expected(mode, got, want)
		vec.CorrelatePlanes(tensortest.RW(got, len(got)).Out(0, rows, w.Rows*w.Cols, mode), f, lane, planes, w)
		if !slices.Equal(got, wantNow) {
			t.Fatalf("%T, mode %v: want %v, got %v", got, mode, wantNow, got)
		}
	}
}

// TestCorrelatePlanesChecks gives windows and tensors that do not fit together.
func TestCorrelatePlanesChecks(t *testing.T) {
	w := vec.Windows{Height: 4, Width: 4, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Rows: 3, Cols: 3}
	large := w
	large.PaddingW = 1 << 20
	if !w.Single() || large.Single() {
		t.Error("windows with much padding are taken, or others are not")
	}
	memory, result := make([]float32, 100), make([]float32, 100)
	image, out := tensortest.RO(memory, 100), tensortest.RW(result, 100)
	filters := image.Mat(0, 2, 4)
	for name, f := range map[string]func(){
		"windows": func() { vec.CorrelatePlanes(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 32), 2, &large) },
		"image":   func() { vec.CorrelatePlanes(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 31), 2, &w) },
		"planes":  func() { vec.CorrelatePlanes(out.Out(0, 2, 9, tensor.Store), filters, image.Span(0, 48), 3, &w) },
		"result":  func() { vec.CorrelatePlanes(out.Out(0, 2, 8, tensor.Store), filters, image.Span(0, 32), 2, &w) },
		"rows":    func() { vec.CorrelatePlanes(out.Out(0, 3, 9, tensor.Store), filters, image.Span(0, 32), 2, &w) },
		"filter": func() {
			vec.CorrelatePlanes(out.Out(0, 2, 9, tensor.Store), image.Mat(0, 2, 3), image.Span(0, 32), 2, &w)
		},
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
