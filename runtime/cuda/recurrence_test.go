//go:build cuda

package cuda_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/ctcloss"
	"github.com/opgen/opgen/generated/exponentialaverage"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/logsoftmax"
	"github.com/opgen/opgen/generated/lstm"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/selectivescan"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/viterbi"
	"github.com/opgen/opgen/generated/wkv"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestRecurrences runs recurrences beyond the sizes of examples, and trains what is before them: with rows of
// one element, of which a block has as many as threads, and with rows of more elements than a block has
// threads, or of which there are more than blocks; with reductions over what a row gave a step before, with
// its neighbors, backwards, and with places that were found.
func TestRecurrences(t *testing.T) {
	const features = 5
	type inputs = func(name string, dims ...int) graph.Tensor
	type places = func(name string, values []int64, dims ...int) graph.Tensor
	// trained trains a linear layer before an operator for two steps, and returns its weight and the result.
	trained := func(steps, batch, width int, apply func(g *graph.Graph, in inputs, at places, x graph.Tensor) graph.Tensor) func(*opgen.Session) ([]float32, error) {
		return func(s *opgen.Session) ([]float32, error) {
			g := graph.New(1)
			var given []opgen.Value
			in := func(name string, dims ...int) graph.Tensor {
				n := 1
				for _, d := range dims {
					n *= d
				}
				x := g.Input(name, dtype.F32, dims...)
				given = append(given, opgen.With(x, waves(n)))
				return x
			}
			at := func(name string, values []int64, dims ...int) graph.Tensor {
				x := g.Input(name, dtype.I64, dims...)
				given = append(given, opgen.With(x, values))
				return x
			}
			front := linear.Apply(g, linear.Defaults(width), in("x", steps, batch, features))
			weight := front.Node().Tensor(int(linear.SlotWeight))
			z := apply(g, in, at, front)
			loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(z), meansquarederror.Label(in("y", z.Shape()...)))
			p, err := s.Training(t.Context(), g, loss, sgd.Optimizer(sgd.Defaults(0.05)), weight, z)
			if err != nil {
				return nil, err
			}
			for range 2 {
				if err := p.Run(t.Context(), given...); err != nil {
					return nil, err
				}
			}
			out, err := opgen.Fetch[float32](p, weight)
			if err != nil {
				return nil, err
			}
			more, err := opgen.Fetch[float32](p, z)
			return slices.Concat(out, more), err
		}
	}
	compare(t, "exponential_average", trained(7, 90, 4, func(g *graph.Graph, _ inputs, _ places, x graph.Tensor) graph.Tensor {
		return exponentialaverage.Apply(g, exponentialaverage.Defaults().WithDecay(0.75), x)
	}))
	compare(t, "wkv", trained(6, 3, 70, func(g *graph.Graph, in inputs, _ places, x graph.Tensor) graph.Tensor {
		return wkv.Apply(g, wkv.Defaults(), wkv.Key(x), wkv.Value(x), wkv.Decay(in("decay", 70)), wkv.Bonus(in("bonus", 70)))
	}))
	compare(t, "selective_scan", trained(3, 6, 20, func(g *graph.Graph, in inputs, _ places, x graph.Tensor) graph.Tensor {
		return selectivescan.Apply(g, selectivescan.Defaults(), selectivescan.Input(x), selectivescan.Delta(in("delta", 3, 6, 20)), selectivescan.Rate(in("rate", 20, 4)),
			selectivescan.Enter(in("enter", 3, 6, 4)), selectivescan.Leave(in("leave", 3, 6, 4)), selectivescan.Skip(in("skip", 20)))
	}))
	for _, size := range []struct{ batch, hidden int }{{2, 300}, {4100, 2}} {
		compare(t, fmt.Sprint("lstm of ", size), trained(3, size.batch, 3, func(g *graph.Graph, in inputs, _ places, x graph.Tensor) graph.Tensor {
			return lstm.Apply(g, lstm.Defaults(size.hidden), lstm.Input(x), lstm.Hidden(in("hidden", size.batch, size.hidden)), lstm.Cell(in("cell", size.batch, size.hidden))).Output
		}))
	}
	compare(t, "viterbi", trained(5, 3, 40, func(g *graph.Graph, in inputs, _ places, x graph.Tensor) graph.Tensor {
		return viterbi.Apply(g, viterbi.Defaults(), viterbi.Input(x), viterbi.Transition(in("transition", 40, 40))).Score
	}))
	compare(t, "path of viterbi", func(s *opgen.Session) ([]float32, error) {
		g := graph.New(1)
		x, transition := g.Input("x", dtype.F32, 9, 3, 40), g.Input("transition", dtype.F32, 40, 40)
		path := viterbi.Apply(g, viterbi.Defaults(), viterbi.Input(x), viterbi.Transition(transition)).Path
		p, err := s.Inference(t.Context(), g, path)
		if err != nil {
			return nil, err
		}
		if err := p.Run(t.Context(), opgen.With(x, waves(9*3*40)), opgen.With(transition, waves(40*40))); err != nil {
			return nil, err
		}
		places, err := opgen.Fetch[int64](p, path)
		var out []float32
		for _, v := range places {
			out = append(out, float32(v))
		}
		return out, err
	})
	compare(t, "ctc_loss", trained(8, 3, 6, func(g *graph.Graph, _ inputs, at places, x graph.Tensor) graph.Tensor {
		x = logsoftmax.Apply(g, logsoftmax.Defaults(), x)
		return ctcloss.Apply(g, ctcloss.Defaults(), ctcloss.Input(x), ctcloss.Target(at("target", []int64{1, 2, 3, 3, 3, 1, 5, 4, 0}, 3, 3)), ctcloss.Samples(at("samples", []int64{8, 7, 5}, 3)),
			ctcloss.Labels(at("labels", []int64{3, 3, 2}, 3)))
	}))
}
