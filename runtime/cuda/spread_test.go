//go:build cuda

package cuda_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// TestSpreads compares reductions of many elements to few results, which blocks share, with those of CPUs. A
// run gives the same bits in any order of threads.
func TestSpreads(t *testing.T) {
	control := controls(t)
	defer control.Order.Store(0)
	for _, kind := range []reduce.OpType{reduce.OpTypeReduceSum, reduce.OpTypeReduceMean, reduce.OpTypeReduceMax, reduce.OpTypeReduceMin, reduce.OpTypeReduceProd} {
		for name, tt := range map[string]struct {
			shape []int
			axes  attr.List[int]
		}{
			"all": {[]int{9, 5000}, attr.ListOf(0, 1)}, "rows": {[]int{3, 20011}, attr.ListOf(1)}, "columns": {[]int{20011, 3}, attr.ListOf(0)},
		} {
			run := func(register func(*task.Registry) error, opts ...opgen.Option) (out []float32) {
				err := opgen.Do(register, func(s *opgen.Session) error {
					g := graph.New(1)
					x := g.Input("x", dtype.F32, tt.shape...)
					z := reduce.Apply(g, reduce.Defaults(kind, tt.axes), x)
					p, err := s.Inference(t.Context(), g, z)
					if err != nil {
						return err
					}
					data := ramp(tt.shape[0] * tt.shape[1])
					for i := range data {
						data[i] = 1 + float32((i*31)%101-50)/1e4
					}
					if err := p.Run(t.Context(), opgen.With(x, data)); err != nil {
						return err
					}
					out, err = opgen.Fetch[float32](p, z)
					return err
				}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			title := fmt.Sprint(kind, " of ", name)
			want := run(catalogue.Register)
			control.Order.Store(0)
			got := run(catalogue.RegisterCUDA, opgen.Backend(open(t)(1)))
			control.Order.Store(7)
			if again := run(catalogue.RegisterCUDA, opgen.Backend(open(t)(1))); !slices.Equal(got, again) {
				t.Errorf("%s: got %v, then %v", title, got, again)
			}
			most := 1e-5
			if kind == reduce.OpTypeReduceProd {
				most = 1e-4 // CPUs round each product
			}
			for i := range want {
				if !(math.Abs(float64(got[i]-want[i])) <= most*math.Abs(float64(want[i]))) {
					t.Errorf("%s, result %d: got %v, want %v", title, i, got[i], want[i])
				}
			}
		}
	}
}
