//go:build cuda

package cuda_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/cumprod"
	"github.com/opgen/opgen/generated/cumsum"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// TestScans compares scans that blocks share with those of CPUs, with rows of several lengths and on either
// side of an element, and with more rows than blocks.
func TestScans(t *testing.T) {
	control := controls(t)
	defer control.Order.Store(0)
	type scan struct {
		name  string
		apply func(*graph.Graph, graph.Tensor) graph.Tensor
	}
	var scans []scan
	for _, reverse := range []bool{false, true} {
		for _, exclusive := range []bool{false, true} {
			name := fmt.Sprintf("cumsum, reverse %v, exclusive %v", reverse, exclusive)
			scans = append(scans, scan{name, func(g *graph.Graph, x graph.Tensor) graph.Tensor {
				return cumsum.Apply(g, cumsum.Defaults().WithAxis(1).WithReverse(reverse).WithExclusive(exclusive), x)
			}})
		}
	}
	scans = append(scans, scan{"cumprod", func(g *graph.Graph, x graph.Tensor) graph.Tensor {
		return cumprod.Apply(g, cumprod.Defaults().WithAxis(1), x)
	}})
	for k, s := range scans {
		shapes := [][]int{{3, 40, 2}, {2, 700, 1}, {1, 256, 3}}
		if k == 0 {
			shapes = append(shapes, []int{4100, 33, 1})
		}
		for _, shape := range shapes {
			control.Order.Store(int64(k % 4))
			var values [2][]float32
			for i, register := range []func(*task.Registry) error{catalogue.Register, catalogue.RegisterCUDA} {
				var opts []opgen.Option
				if i == 1 {
					opts = append(opts, opgen.Backend(open(t)(1)))
				}
				err := opgen.Do(register, func(session *opgen.Session) error {
					g := graph.New(1)
					x := g.Input("x", dtype.F32, shape...)
					z := s.apply(g, x)
					p, err := session.Inference(t.Context(), g, z)
					if err != nil {
						return err
					}
					data := ramp(shape[0] * shape[1] * shape[2])
					for i := range data {
						data[i] = 1 + float32((i*i)%17-8)/64
					}
					if err := p.Run(t.Context(), opgen.With(x, data)); err != nil {
						return err
					}
					values[i], err = opgen.Fetch[float32](p, z)
					return err
				}, opts...)
				if err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
			}
			for i, want := range values[0] {
				if got := values[1][i]; !(math.Abs(float64(got-want)) <= 1e-5*math.Abs(float64(want))) {
					t.Fatalf("%s of %v, element %d: got %v, want %v", s.name, shape, i, got, want)
				}
			}
		}
	}
}
