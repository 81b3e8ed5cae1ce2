package networks

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// chain returns the forward pass of layers of a width whose weights fit into the cache, and whose activations
// do not.
func chain(layers, rows, width int) func(g *graph.Graph) graph.Tensor {
	return func(g *graph.Graph) graph.Tensor {
		y := g.Input("x", dtype.F32, rows, width)
		for range layers {
			y = linear.Apply(g, linear.Defaults(width).WithActivation(activation.Relu), y)
		}
		return y
	}
}

// images returns the forward pass of a convolution, an activation and a pooling.
func images(number, channels, size int) func(g *graph.Graph) graph.Tensor {
	return func(g *graph.Graph) graph.Tensor {
		conv, pool := conv2d.Defaults(16, 3, 3), pool2d.Defaults(2, 2)
		pool.StrideH, pool.StrideW = 2, 2
		y := conv2d.Apply(g, conv, g.Input("x", dtype.F32, number, channels, size, size))
		return pool2d.Apply(g, pool, elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), y))
	}
}

// BenchmarkTiled measures programs in tiles beside the same ones of whole operators. Both run in turn; of
// each, the fastest run counts.
func BenchmarkTiled(b *testing.B) {
	ctx := context.Background()
	trained := func(w *Network) func(*opgen.Session) (func() error, error) {
		return func(s *opgen.Session) (func() error, error) {
			p, err := w.Open(ctx, s)
			return func() error { return p.Step(ctx) }, err
		}
	}
	forward := func(build func(*graph.Graph) graph.Tensor) func(*opgen.Session) (func() error, error) {
		return func(s *opgen.Session) (func() error, error) {
			g := graph.New(1)
			y := build(g)
			p, err := s.Inference(ctx, g, y)
			if err != nil {
				return nil, err
			}
			var fed []opgen.Value
			for _, x := range p.Graph().Fed {
				fed = append(fed, opgen.With(x, drawn(1, 1, x.Shape()...).Elements))
			}
			return func() error { return p.Run(ctx, fed...) }, nil
		}
	}
	for _, w := range []struct {
		name string
		open func(*opgen.Session) (func() error, error)
	}{{"mlp", trained(&All[0])}, {"encoder", trained(&All[1])}, {"chain", forward(chain(4, 1<<12, 256))},
		{"chain128", forward(chain(6, 1<<16, 128))}, {"chain64", forward(chain(6, 1<<16, 64))}, {"chain32", forward(chain(6, 1<<18, 32))}, {"images", forward(images(32, 8, 32))},
		{"images224", forward(images(8, 3, 224))}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", w.name, workers), func(b *testing.B) {
				var runs [2]func() error // whole, and in tiles
				for i, opts := range [][]opgen.Option{{opgen.Workers(workers)}, {opgen.Workers(workers), opgen.Tiled()}} {
					s, err := opgen.Open(catalogue.Register, opts...)
					if err != nil {
						b.Fatal(err)
					}
					defer s.Close()
					if runs[i], err = w.open(s); err != nil {
						b.Fatal(err)
					}
				}
				best := [2]float64{math.Inf(1), math.Inf(1)}
				for b.Loop() {
					for i, run := range runs {
						start := time.Now()
						if err := run(); err != nil {
							b.Fatal(err)
						}
						best[i] = min(best[i], float64(time.Since(start)))
					}
				}
				b.ReportMetric(best[0], "ns/whole")
				b.ReportMetric(best[1], "ns/tiled")
				b.ReportMetric(best[1]/best[0], "tiled/whole")
			})
		}
	}
}
