package vec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
	"github.com/opgen/opgen/runtime/vec"
)

// TestParts computes pairs of rows of windows, and compares bits with those of all rows. What no window of
// the part sees is NaN then. Some images have pixels that are not finite.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 150 {
		w := &vec.Windows{Height: 1 + r.IntN(20), Width: 1 + r.IntN(40), KernelH: 1 + r.IntN(4), KernelW: 1 + r.IntN(4),
			StrideH: 1 + r.IntN(3), StrideW: 1 + r.IntN(3), DilationH: 1 + r.IntN(2), DilationW: 1 + r.IntN(2)}
		w.PaddingH, w.PaddingW = r.IntN((w.KernelH-1)*w.DilationH+1), r.IntN((w.KernelW-1)*w.DilationW+1)
		planes, filters := 1+r.IntN(5), 1+r.IntN(9)
		switch r.IntN(24) {
		case 0, 3, 4, 5, 6, 7, 8:
			w.StrideH, w.StrideW = 1, 1
		case 1: // few products
			*w = vec.Windows{Height: 14 + r.IntN(9), Width: 14 + r.IntN(9), KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PaddingH: 1, PaddingW: 1, DilationH: 1, DilationW: 1}
			planes, filters = 32+r.IntN(9), 64
		case 2: // strips
			w.Height, w.Width, w.StrideH, w.StrideW, planes, filters = 100, 300, 1, 1, 8, 2
		}
		w.Rows = (w.Height + 2*w.PaddingH - (w.KernelH-1)*w.DilationH - 1) / w.StrideH
		w.Cols = (w.Width + 2*w.PaddingW - (w.KernelW-1)*w.DilationW - 1) / w.StrideW
		if w.Rows++; w.Rows < 1 || w.Cols < 0 {
			continue
		}
		w.Cols++
		if r.IntN(2) == 0 {
			testParts[float32](t, r, w, planes, filters)
		} else {
			testParts[float64](t, r, w, planes, filters)
		}
	}
}

func testParts[T float32 | float64](t *testing.T, r *rand.Rand, w *vec.Windows, planes, filters int) {
	lo := 2 * r.IntN((w.Rows+1)/2)
	hi := min(lo+2*(1+r.IntN((w.Rows-lo+1)/2)), w.Rows)
	images := 1 + r.IntN(2)
	draw := func(n int) []T {
		out := make([]T, n)
		for i := range out {
			out[i] = T(r.NormFloat64())
		}
		return out
	}
	whole := draw(images * planes * w.Height * w.Width)
	if r.IntN(3) == 0 && len(whole) > 0 {
		whole[r.IntN(len(whole))] = T(math.Inf(1))
	}
	seen := make([]T, len(whole))
	for i, v := range whole {
		seen[i] = T(math.NaN())
		if row := i / w.Width % w.Height; row >= lo*w.StrideH-w.PaddingH && row <= (hi-1)*w.StrideH-w.PaddingH+(w.KernelH-1)*w.DilationH {
			seen[i] = v
		}
	}
	patch, size := planes*w.KernelH*w.KernelW, planes*w.Height*w.Width
	f, own := draw(filters*patch), draw(planes*filters*w.KernelH*w.KernelW)
	lane := func(x []T, n int) tensor.ROLane[T] { return tensortest.RO(x, len(x)).Span(0, n) }
	for _, x := range []struct {
		name    string
		can     bool
		rows    int
		compute func(dst tensor.OutMat[T], image []T, lo, hi int)
	}{
		{"Correlate", w.Dense(), images * filters, func(dst tensor.OutMat[T], image []T, lo, hi int) {
			vec.CorrelateRows(dst, tensortest.RO(f, len(f)).Mat(0, filters, patch), lane(image, len(image)), planes, w, lo, hi)
		}},
		{"CorrelatePlanes", w.Single(), planes * filters, func(dst tensor.OutMat[T], image []T, lo, hi int) {
			vec.CorrelatePlanes(dst, tensortest.RO(own, len(own)).Mat(0, planes*filters, w.KernelH*w.KernelW), lane(image, size), planes, w.Part(lo, hi))
		}},
	} {
		if !x.can {
			continue
		}
		before := draw(x.rows * w.Rows * w.Cols)
		mode := []tensor.Mode{tensor.Store, tensor.Accumulate}[r.IntN(2)]
		want, got, again := slices.Clone(before), slices.Clone(before), slices.Clone(before)
		x.compute(tensortest.RW(want, len(want)).Out(0, x.rows, w.Rows*w.Cols, mode), whole, 0, w.Rows)
		x.compute(tensortest.RW(got, len(got)).Out(0, x.rows, w.Rows*w.Cols, mode).ColRange(lo*w.Cols, hi*w.Cols), seen, lo, hi)
		x.compute(tensortest.RW(again, len(again)).Out(0, x.rows, w.Rows*w.Cols, mode), whole, 0, w.Rows)
		for i := range got {
			if again[i] != want[i] && (again[i] == again[i] || want[i] == want[i]) {
				t.Fatalf("%s of %d planes and %d filters, %+v: element %d is %v, and %v after that of a part", x.name, planes, filters, *w, i, want[i], again[i])
			}
			expected := before[i]
			if row := i / w.Cols % w.Rows; row >= lo && row < hi {
				expected = want[i]
			}
			if got[i] != expected && (got[i] == got[i] || expected == expected) {
				t.Fatalf("%s of %d planes and %d filters, %+v, rows %d to %d: element %d: want %v, got %v", x.name, planes, filters, *w, lo, hi-1, i, expected, got[i])
			}
		}
	}
	n := (hi - lo) * w.Cols
	want, got := make([]T, patch*w.Rows*w.Cols), make([]T, patch*n)
	vec.Unfold(tensortest.WO(want, len(want)).Span(0, len(want)), lane(whole, size), planes, w)
	vec.Unfold(tensortest.WO(got, len(got)).Span(0, len(got)), lane(seen, size), planes, w.Part(lo, hi))
	for i, v := range got {
		if expected := want[i/n*w.Rows*w.Cols+lo*w.Cols+i%n]; v != expected {
			t.Fatalf("Unfold of %d planes, %+v, rows %d to %d: element %d: want %v, got %v", planes, *w, lo, hi-1, i, expected, v)
		}
	}
}
