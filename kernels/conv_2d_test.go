package kernels_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestConvolutionWithFewProducts computes a convolution of float32 that is so large that few products are
// chosen, and the gradient of its images. It compares the results with those of float64, which are sums of
// all products, and results on one worker with those on three.
func TestConvolutionWithFewProducts(t *testing.T) {
	const images, channels, filters, height, width, groups = 5, 96, 80, 16, 17, 2
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(float32(r.NormFloat64() / 4))
		}
		return x
	}
	fed := values{
		"x": draw(images * channels * height * width), "seed": draw(images * filters * height * width),
		"filter": draw(filters * channels / groups * 9), "bias": draw(filters),
	}
	compute := func(e dtype.Type, workers int) values {
		g := graph.New(1)
		x, seed := g.Input("x", e, images, channels, height, width), g.Input("seed", e, images, filters, height, width)
		at := conv2d.Defaults(filters, 3, 3).WithPaddingH(1).WithPaddingW(1).WithGroups(groups).WithActivation(activation.Tanh)
		y := conv2d.Apply(g, at, x)
		p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x}, y)
		if err != nil {
			t.Fatal(err)
		}
		v := maps.Clone(fed)
		for _, slot := range []struct {
			name string
			slot conv2d.Slot
		}{{"filter", conv2d.SlotFilter}, {"bias", conv2d.SlotBias}} {
			v[y.Node().Tensor(int(slot.slot)).Name()] = fed[slot.name]
			delete(v, slot.name)
		}
		out := mustRun(t, p, v, optest.Execution{Workers: workers, Garbage: optest.NaNs})
		return values{"output": out[y.Name()], "gradient": out[grads[x].Name()]}
	}
	want, got := compute(dtype.F64, 2), compute(dtype.F32, 1)
	for name, other := range compute(dtype.F32, 3) {
		if !slices.Equal(got[name], other) {
			t.Errorf("%s: three workers compute other bits than one", name)
		}
		if len(other) != len(want[name]) || len(other) == 0 {
			t.Fatalf("%s: want %d elements, got %d", name, len(want[name]), len(other))
		}
		for i, v := range other {
			if d := math.Abs(v - want[name][i]); !(d <= 2e-6) {
				t.Fatalf("%s: element %d: want %v, got %v", name, i, want[name][i], v)
			}
		}
	}
}

// TestConvolutionOfOneImage computes images one by one, whose rows are divided into ranges, and sixteen
// together, whose ranges are whole images. The bits are the same. Images of few rows stay whole.
func TestConvolutionOfOneImage(t *testing.T) {
	const channels, filters, size, images = 3, 16, 64, 16
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(float32(r.NormFloat64()))
		}
		return x
	}
	for _, c := range []struct{ kernel, stride, rows, ranges int }{
		{3, 1, 32, 4}, // with few products
		{3, 2, 16, 2}, // 32 x 32 results, of which a tile has four pairs of rows
		{5, 1, 32, 4},
		{1, 1, 32, 4},
		{3, 4, 8, 1},
	} {
		x, filter := draw(images*channels*size*size), draw(filters*channels*c.kernel*c.kernel)
		compute := func(first, n, workers int) []float64 {
			g := graph.New(1)
			in := g.Input("x", dtype.F32, n, channels, size, size)
			at := conv2d.Defaults(filters, c.kernel, c.kernel).WithUseBias(false).WithStrideH(c.stride).WithStrideW(c.stride).WithPaddingH(c.kernel / 2).WithPaddingW(c.kernel / 2)
			y := conv2d.Apply(g, at, in)
			p, err := graph.Inference(g, y)
			if err != nil {
				t.Fatal(err)
			}
			grid := y.Node().Resolved.Grids[0][0]
			if last := grid.Inner[1]; n == 1 && (grid.Tiles() != c.ranges || last.Over != c.rows) || n > 1 && last.Grain != last.Over {
				t.Errorf("%+v: %d images: the ranges are %v", c, n, &grid)
			}
			image := channels * size * size
			v := values{"x": x[first*image : (first+n)*image], y.Node().Tensor(int(conv2d.SlotFilter)).Name(): filter}
			return mustRun(t, p, v, optest.Execution{Workers: workers, Garbage: optest.NaNs})[y.Name()]
		}
		all := compute(0, images, 1)
		for _, i := range []int{0, 7} {
			for _, workers := range []int{1, 3} {
				one := compute(i, 1, workers)
				if n := len(all) / images; !slices.Equal(one, all[i*n:(i+1)*n]) {
					t.Errorf("%+v: image %d alone has other bits on %d workers than among others", c, i, workers)
				}
			}
		}
	}
}
