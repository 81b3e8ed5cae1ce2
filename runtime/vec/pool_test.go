package vec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/tensor/tensortest"
	"github.com/opgen/opgen/runtime/vec"
)

// TestPool compares what windows give, and the gradients of it, with what is found element by element.
func TestPool(t *testing.T) {
	nan := math.NaN()
	scaled := func(i int, x float64) float64 { return x * float64(10+i) }
	for _, w := range []vec.Pool[float64]{
		{Down: vec.Axis{Extent: 4, Windows: 2, Size: 2, Stride: 2}, Right: vec.Axis{Extent: 6, Windows: 3, Size: 2, Stride: 2}},
		{Down: vec.Axis{Extent: 5, Windows: 4, Size: 3, Stride: 2, Padding: 2}, Right: vec.Axis{Extent: 3, Windows: 4, Size: 2, Stride: 1, Padding: 1}},
		{Down: vec.Axis{Extent: 5, Windows: 3}, Right: vec.Axis{Extent: 4, Windows: 6}},
		{Down: vec.Axis{Extent: 3, Windows: 2, Size: 2, Stride: 1}, Right: vec.Axis{Extent: 3, Windows: 1, Size: 3, Stride: 5}, Divisor: 7},
		{Down: vec.Axis{Extent: 4, Windows: 2, Size: 2, Stride: 2}, Right: vec.Axis{Extent: 5, Windows: 2, Size: 2, Stride: 3}},
		{Down: vec.Axis{Extent: 5, Windows: 2, Size: 2, Stride: 2}, Right: vec.Axis{Extent: 4, Windows: 2}, Divisor: 4},
		{Down: vec.Axis{Extent: 2, Windows: 1}, Right: vec.Axis{Extent: 11, Windows: 5, Size: 2, Stride: 2}},
		{Down: vec.Axis{Extent: 2, Windows: 1, Size: 2, Stride: 2}, Right: vec.Axis{Extent: 12, Windows: 6}, Divisor: 3},
	} {
		for k, image := range [][]float64{
			{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4},
			{-1, -1, -2, -2, -1, -1, -1, -3, -4, -1, -1, -7, -7, -7, -8, -9, -9, -1, -2, -1, -1, -1, -1, -1},
			{1, nan, 2, 2, nan, 1, nan, nan, 4, 1, 2, 3, 4, 5, 6, 1, 1, 1, 1, nan, 1, 1, nan, 2},
		} {
			for _, finish := range []func(int, float64) float64{nil, scaled} {
				t.Run(fmt.Sprintf("%+v/%d/%t", w, k, finish == nil), func(t *testing.T) {
					height, width, rows, cols := w.Down.Extent, w.Right.Extent, w.Down.Windows, w.Right.Windows
					image := image[:height*width]
					grad := make([]float64, rows*cols)
					mean, most := make([]float64, rows*cols), make([]float64, rows*cols)
					ofMean, ofMost := make([]float64, height*width), make([]float64, height*width)
					gotMean, gotMost := slices.Clone(mean), slices.Clone(most)
					toMean, toMost := slices.Clone(ofMean), slices.Clone(ofMost)
					for i := range grad {
						grad[i] = float64(i + 1)
						top, bottom := w.Down.Window(i / cols)
						left, right := w.Right.Window(i % cols)
						sum, best, n := 0.0, -1, 0
						for h := top; h < bottom; h++ {
							for x := left; x < right; x++ {
								v := image[h*width+x]
								sum += v
								n++
								if best < 0 || v > image[best] || v != v && image[best] == image[best] {
									best = h*width + x
								}
							}
						}
						divisor := float64(n)
						if w.Divisor != 0 {
							divisor = w.Divisor
						}
						scale := 1.0
						if finish != nil {
							scale = float64(10 + i)
						}
						mean[i], most[i] = sum/divisor*scale, image[best]*scale
						ofMost[best] += grad[i] * scale
						for h := top; h < bottom; h++ {
							for x := left; x < right; x++ {
								ofMean[h*width+x] += grad[i] * scale / divisor
							}
						}
					}
					from := tensortest.RO(image, height*width).Span(0, height*width)
					for p := range rows { // rows may be computed one by one
						w.Mean(tensortest.WO(gotMean, rows*cols).Span(p*cols, (p+1)*cols), from, p, p+1, finish)
					}
					w.Max(tensortest.WO(gotMost, rows*cols).Span(0, rows*cols), from, 0, rows, finish)
					g := tensortest.RO(grad, rows*cols).Span(0, rows*cols)
					w.MeanGrad(tensortest.Scatter(toMean, height*width).Span(0, height*width), g, finish)
					w.MaxGrad(tensortest.Scatter(toMost, height*width).Span(0, height*width), from, g, finish)
					for _, c := range []struct {
						name      string
						got, want []float64
					}{{"means", gotMean, mean}, {"greatest", gotMost, most}, {"gradient of means", toMean, ofMean}, {"gradient of greatest", toMost, ofMost}} {
						if !slices.EqualFunc(c.got, c.want, func(a, b float64) bool { return a == b || a != a && b != b }) {
							t.Errorf("%s: want %v, got %v", c.name, c.want, c.got)
						}
					}
					var dropped = tensortest.Scatter[float64](nil, 0).Span(0, 0)
					w.MeanGrad(dropped, g, finish)
					w.MaxGrad(dropped, from, g, finish)
					defer func() {
						if recover() == nil {
							t.Error("too few elements: no panic")
						}
					}()
					w.Max(tensortest.WO(gotMost, rows*cols).Span(1, rows*cols), from, 0, rows, finish)
				})
			}
		}
	}
}

// TestWideMax compares the maxima of windows that lie in several parts of a row, and of windows that are
// wider than such a part, with what is found element by element.
func TestWideMax(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, right := range []vec.Axis{
		{Extent: 1300, Windows: 1300, Size: 5, Stride: 1, Padding: 2},
		{Extent: 1301, Windows: 650, Size: 3, Stride: 2},
		{Extent: 1200, Windows: 7},
		{Extent: 1200, Windows: 601, Size: 600, Stride: 1},
		{Extent: 511, Windows: 2, Size: 510, Stride: 1},
		{Extent: 514, Windows: 2, Size: 513, Stride: 1},
	} {
		w := vec.Pool[float32]{Down: vec.Axis{Extent: 4, Windows: 3, Size: 3, Stride: 1, Padding: 1}, Right: right}
		image := make([]float32, 4*right.Extent)
		for i := range image {
			image[i] = []float32{float32(r.NormFloat64()), 0, float32(math.Copysign(0, -1)), float32(math.Inf(-1))}[min(r.IntN(8), 3)]
			if r.IntN(500) == 0 {
				image[i] = float32(math.NaN())
			}
		}
		got := make([]float32, 3*right.Windows)
		w.Max(tensortest.WO(got, len(got)).Span(0, len(got)), tensortest.RO(image, len(image)).Span(0, len(image)), 0, 3, nil)
		for i, y := range got {
			top, bottom := w.Down.Window(i / right.Windows)
			lo, hi := right.Window(i % right.Windows)
			want := float32(math.Inf(-1))
			for h := top; h < bottom; h++ {
				for _, v := range image[h*right.Extent:][lo:hi] {
					want = max(want, v)
				}
			}
			if y != y && want != want {
				continue
			}
			if math.Float32bits(y) != math.Float32bits(want) {
				t.Fatalf("%+v: maximum %d is %g, want %g", right, i, y, want)
			}
		}
	}
}

// TestPoolSquares compares pooling of wide images by squares with that by windows which a function finishes,
// as it is.
func TestPoolSquares(t *testing.T) {
	same := func(_ int, x float32) float32 { return x }
	for _, cols := range []int{1, 127, 128, 300} {
		height, width, rows := 4, 2*cols+1, 2
		w := vec.Pool[float32]{Down: vec.Axis{Extent: height, Windows: rows, Size: 2, Stride: 2}, Right: vec.Axis{Extent: width, Windows: cols, Size: 2, Stride: 2}}
		image, grad := make([]float32, height*width), make([]float32, rows*cols)
		for i := range image {
			image[i] = float32(i * 7919 % 1013)
		}
		for i := range grad {
			grad[i] = float32(i%37) / 3
		}
		from, g := tensortest.RO(image, len(image)).Span(0, len(image)), tensortest.RO(grad, len(grad)).Span(0, len(grad))
		var got, want [4][]float32
		for i, finish := range []func(int, float32) float32{nil, same} {
			out := [...]*[4][]float32{&got, &want}[i]
			for k := range out {
				out[k] = make([]float32, []int{rows * cols, rows * cols, height * width, height * width}[k])
			}
			w.Max(tensortest.WO(out[0], rows*cols).Span(0, rows*cols), from, 0, rows, finish)
			w.Mean(tensortest.WO(out[1], rows*cols).Span(0, rows*cols), from, 0, rows, finish)
			w.MaxGrad(tensortest.Scatter(out[2], height*width).Span(0, height*width), from, g, finish)
			w.MeanGrad(tensortest.Scatter(out[3], height*width).Span(0, height*width), g, finish)
		}
		for k := range got {
			if !slices.Equal(got[k], want[k]) {
				t.Errorf("%d squares: function %d gives something else than by windows", cols, k)
			}
		}
	}
}

// TestStacked compares windows on three images that lie one below the other with those on each image.
func TestStacked(t *testing.T) {
	right := vec.Axis{Extent: 4, Windows: 3, Size: 2, Stride: 1}
	for _, c := range []struct {
		down vec.Axis
		want bool
	}{
		{vec.Axis{Extent: 4, Windows: 2, Size: 2, Stride: 2}, true},
		{vec.Axis{Extent: 6, Windows: 2, Size: 2, Stride: 3}, true},
		{vec.Axis{Extent: 6, Windows: 3}, true},
		{vec.Axis{Extent: 5, Windows: 3}, false},
		{vec.Axis{Extent: 5, Windows: 2, Size: 2, Stride: 2}, false},
		{vec.Axis{Extent: 4, Windows: 2, Size: 3, Stride: 2}, false},
		{vec.Axis{Extent: 4, Windows: 2, Size: 2, Stride: 2, Padding: 1}, false},
	} {
		one := vec.Pool[float64]{Down: c.down, Right: right}
		all, ok := one.Stacked(3)
		if ok != c.want {
			t.Errorf("%+v: want %t, got %t", c.down, c.want, ok)
		}
		if !ok {
			continue
		}
		size, n := c.down.Extent*right.Extent, c.down.Windows*right.Windows
		images := make([]float64, 3*size)
		for i := range images {
			images[i] = float64(i * 37 % 101)
		}
		got, want := make([]float64, 3*n), make([]float64, 3*n)
		from := tensortest.RO(images, 3*size)
		all.Max(tensortest.WO(got, 3*n).Span(0, 3*n), from.Span(0, 3*size), 0, 3*c.down.Windows, nil)
		for i := range 3 {
			one.Max(tensortest.WO(want, 3*n).Span(i*n, (i+1)*n), from.Span(i*size, (i+1)*size), 0, c.down.Windows, nil)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: want %v, got %v", c.down, want, got)
		}
	}
}
