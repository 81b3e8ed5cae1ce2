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
