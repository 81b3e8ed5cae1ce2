//go:build cuda

package cuda_test

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// sorted returns the indices of the largest elements of rows, on the CPU or on a device.
func sorted[T dtype.Element](t *testing.T, device bool, data []T, k int, inOrder bool, shape ...int) (indices []int64) {
	t.Helper()
	register, opts := catalogue.Register, []opgen.Option(nil)
	if device {
		register, opts = catalogue.RegisterCUDA, []opgen.Option{opgen.Backend(open(t)(1))}
	}
	err := opgen.Do(register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", dtype.Of[T](), shape...)
		out := topk.Apply(g, topk.Defaults(k).WithAxis(1).WithSorted(inOrder), x)
		p, err := s.Inference(t.Context(), g, out.Indices)
		if err != nil {
			return err
		}
		if err := p.Run(t.Context(), opgen.With(x, data)); err != nil {
			return err
		}
		indices, err = opgen.Fetch[int64](p, out.Indices)
		return err
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return indices
}

// TestSorts compares orders that blocks find with those of CPUs: with equal elements, NaN, infinities and
// integers, rows of several lengths, and the threads of a block in several orders.
func TestSorts(t *testing.T) {
	control := controls(t)
	defer control.Order.Store(0)
	for k, tt := range []struct {
		shape []int
		most  int
	}{{[]int{3, 100, 2}, 100}, {[]int{2, 64, 1}, 10}, {[]int{1, 700, 2}, 300}} {
		control.Order.Store(int64(k))
		n := tt.shape[0] * tt.shape[1] * tt.shape[2]
		reals, integers := make([]float32, n), make([]int64, n)
		for i := range n {
			integers[i] = int64(i*i*7%23) - 11 // some are equal
			reals[i] = float32(integers[i])
		}
		for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)} {
			reals[n/2+3*i] = float32(v)
		}
		for _, inOrder := range []bool{true, false} {
			if got, want := sorted(t, true, reals, tt.most, inOrder, tt.shape...), sorted(t, false, reals, tt.most, inOrder, tt.shape...); !slices.Equal(got, want) {
				t.Errorf("%v, in order %v: got %v, want %v", tt.shape, inOrder, got, want)
			}
			if got, want := sorted(t, true, integers, tt.most, inOrder, tt.shape...), sorted(t, false, integers, tt.most, inOrder, tt.shape...); !slices.Equal(got, want) {
				t.Errorf("%v integers, in order %v: got %v, want %v", tt.shape, inOrder, got, want)
			}
		}
	}
}
