package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
)

// TestSoftmaxOfLargeNumbers computes softmax along each dimension of numbers so large that one of them times
// the precision of float32 is far from 0. What is left is the rounding of the differences from the logarithm
// of the sum.
func TestSoftmaxOfLargeNumbers(t *testing.T) {
	t.Parallel()
	for _, dims := range [][]int{{7}, {2, 4, 3}, {5, 40}, {3, 4, 64}, {2, 2, 700}, {3, 300, 5}, {1, 70, 33}} {
		for dim := range dims {
			t.Run(fmt.Sprint(dims, " ", dim), func(t *testing.T) {
				x := make([]float32, shape.Prod(dims))
				for i := range x {
					x[i] = 1000 + 200*float32(math.Sin(float64(i*i)))
				}
				got := softmaxOf(t, x, dims, dim)
				n, inner := dims[dim], shape.Prod(dims[dim+1:])
				for first := range x {
					if first/inner%n > 0 {
						continue
					}
					top, sum := math.Inf(-1), 0.
					for i := range n {
						top = max(top, float64(x[first+i*inner]))
					}
					for i := range n {
						sum += math.Exp(float64(x[first+i*inner]) - top)
					}
					for i := range n {
						d := float64(x[first+i*inner]) - top - math.Log(sum)
						if want := math.Exp(d); !(math.Abs(float64(got[first+i*inner])-want) <= 0x1p-23*(4+math.Abs(d))*want+0x1p-149) {
							t.Fatalf("element %d: want %v, got %v", first+i*inner, want, got[first+i*inner])
						}
					}
				}
			})
		}
	}
}

// softmaxOf returns what the operator gives for numbers of a shape.
func softmaxOf(t *testing.T, x []float32, dims []int, dim int) (out []float32) {
	t.Helper()
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		input := g.Input("x", dtype.F32, dims...)
		y := softmax.Apply(g, softmax.Defaults().WithDim(dim), input)
		p, err := s.Inference(t.Context(), g, y)
		if err != nil {
			return err
		}
		if err := p.Run(t.Context(), opgen.With(input, x)); err != nil {
			return err
		}
		out, err = opgen.Fetch[float32](p, y)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
