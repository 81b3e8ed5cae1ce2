package opgen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// The sizes of the critic: samples, inputs and hidden units.
const criticRows, criticInputs, criticUnits = 5, 3, 4

// critic is a network whose gradient by its input is penalized, as in training Wasserstein GANs: the loss is
// the mean of its scores and 10 times the mean of (norm - 1)^2, where norm is that of a sample's gradient.
type critic struct {
	g             *graph.Graph
	x, loss       graph.Tensor
	grad, penalty graph.Tensor
	weights       []graph.Tensor // w1 [criticUnits, criticInputs], b1 [criticUnits], w2 [1, criticUnits]
}

func newCritic() critic {
	g := graph.New(1)
	c := critic{g: g, x: g.Input("x", dtype.F64, criticRows, criticInputs)}
	h := linear.Apply(g, linear.Defaults(criticUnits).WithActivation(activation.Tanh).WithDataType(dtype.F64), c.x, graph.Named("first"))
	score := linear.Apply(g, linear.Defaults(1).WithUseBias(false).WithDataType(dtype.F64), h, graph.Named("second"))
	c.grad = g.Gradients(score, c.x)[0]
	norm := elementunary.Sqrt(g, reduce.Sum(g, elementbinary.Mul(g, c.grad, c.grad), attr.ListOf(1)))
	excess := elementunary.ScalarSub(g, norm, 1)
	c.penalty = reduce.Mean(g, elementbinary.Mul(g, excess, excess), attr.ListOf(0))
	c.loss = elementbinary.Add(g, reduce.Mean(g, score, attr.ListOf(0, 1)), elementunary.ScalarMultiply(g, c.penalty, 10))
	c.weights = []graph.Tensor{h.Node().Tensor(int(linear.SlotWeight)), h.Node().Tensor(int(linear.SlotBias)), score.Node().Tensor(int(linear.SlotWeight))}
	return c
}

// criticLoss is the loss in plain Go, with the gradient of the scores by the input as written by hand.
func criticLoss(x []float64, w [][]float64) (loss float64, grad []float64) {
	w1, b1, w2 := w[0], w[1], w[2]
	grad = make([]float64, criticRows*criticInputs)
	for n := range criticRows {
		score := 0.0
		own := grad[n*criticInputs : (n+1)*criticInputs]
		for h := range criticUnits {
			sum := b1[h]
			for k := range criticInputs {
				sum += w1[h*criticInputs+k] * x[n*criticInputs+k]
			}
			t := math.Tanh(sum)
			score += w2[h] * t
			for k := range criticInputs {
				own[k] += w2[h] * (1 - t*t) * w1[h*criticInputs+k]
			}
		}
		square := 0.0
		for _, v := range own {
			square += v * v
		}
		excess := math.Sqrt(square) - 1
		loss += (score + 10*excess*excess) / criticRows
	}
	return loss, grad
}

// criticSlopes returns the gradients of the loss by central differences.
func criticSlopes(x []float64, w [][]float64) [][]float64 {
	out := make([][]float64, len(w))
	for i := range w {
		out[i] = make([]float64, len(w[i]))
		for k, v := range w[i] {
			const h = 1e-5
			w[i][k] = v + h
			above, _ := criticLoss(x, w)
			w[i][k] = v - h
			below, _ := criticLoss(x, w)
			w[i][k], out[i][k] = v, (above-below)/(2*h)
		}
	}
	return out
}

func drawn(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: got %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Errorf("%s[%d] = %g, want %g", what, i, got[i], want[i])
		}
	}
}

// TestGradientPenalty compares the first gradients of a critic with those by hand, and the gradients of a
// loss with a penalty of them with differences of plain Go: those of nodes, which Gradients inserts once
// more, and those of a training step.
func TestGradientPenalty(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]opgen.Option{"plain": nil, "tiled": {opgen.Tiled()}, "checked": {opgen.Checked()}, "fused": {opgen.Fuse(), opgen.Workers(2)}} {
		t.Run(name, func(t *testing.T) {
			s, err := opgen.Open(catalogue.Register, opts...)
			if err != nil {
				t.Fatal(err)
			}
			testGradientPenalty(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func testGradientPenalty(t *testing.T, s *opgen.Session) {
	t.Helper()
	c := newCritic()
	second := c.g.Gradients(c.loss, c.weights...)
	p, err := s.Inference(t.Context(), c.g, append([]graph.Tensor{c.loss, c.grad}, append(second, c.weights...)...)...)
	if err != nil {
		t.Fatal(err)
	}
	x := drawn(rand.New(rand.NewPCG(1, 2)), criticRows*criticInputs)
	if err := p.Run(t.Context(), opgen.With(c.x, x)); err != nil {
		t.Fatal(err)
	}
	values := func(p *opgen.Program, ts ...graph.Tensor) (out [][]float64) {
		for _, v := range ts {
			x, err := opgen.Fetch[float64](p, v)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, x)
		}
		return out
	}
	w := values(p, c.weights...)
	loss, grad := criticLoss(x, w)
	got := values(p, c.loss, c.grad)
	near(t, "loss", got[0], []float64{loss}, 1e-12)
	near(t, "grad", got[1], grad, 1e-12)
	want := criticSlopes(x, w)
	for i, v := range values(p, second...) {
		near(t, c.weights[i].Name(), v, want[i], 1e-7)
	}

	// Training goes on from the same weights, as plain Go does.
	const rate = 0.02
	step, err := s.Training(t.Context(), c.g, c.loss, sgd.Optimizer(sgd.Defaults(rate)), append([]graph.Tensor{c.penalty}, c.weights...)...)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		for i, slopes := range criticSlopes(x, w) {
			for k := range slopes {
				w[i][k] -= rate * slopes[k]
			}
		}
		if err := step.Run(t.Context(), opgen.With(c.x, x)); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range values(step, c.weights...) {
		near(t, "trained "+c.weights[i].Name(), v, w[i], 1e-6)
	}
	after, _ := criticLoss(x, w)
	if fetched := values(step, c.penalty)[0][0]; !(after < loss-0.5) || !(fetched < 0.2) {
		t.Errorf("training goes from a loss of %g to %g with a penalty of %g, want it to fall", loss, after, fetched)
	}
}

// TestHessianProduct computes x*y^2 + sin(x)*y, its gradient, its Hessian times a vector, and a third
// derivative, and compares them with what mathematics says.
func TestHessianProduct(t *testing.T) {
	t.Parallel()
	s, g := session(t), graph.New(1)
	x, y, v := g.Input("x", dtype.F64, 3), g.Input("y", dtype.F64, 3), g.Input("v", dtype.F64, 3)
	f := elementbinary.Add(g, elementbinary.Mul(g, x, elementbinary.Mul(g, y, y)), elementbinary.Mul(g, elementunary.Sin(g, x), y))
	first := g.Gradients(f, x, y)
	along := elementbinary.Mul(g, first[0], v)
	second := g.Gradients(along, x, y)
	third := g.Gradients(second[0], x, y)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	fetch := append(append(first, second...), third...)
	p, err := s.Inference(t.Context(), g, fetch...)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := []float64{0.3, -1.2, 2}, []float64{1.5, 0.7, -0.4}, []float64{1, -2, 0.5}
	if err := p.Run(t.Context(), opgen.With(x, a), opgen.With(y, b), opgen.With(v, c)); err != nil {
		t.Fatal(err)
	}
	want := []func(x, y, v float64) float64{
		func(x, y, v float64) float64 { return y*y + math.Cos(x)*y },
		func(x, y, v float64) float64 { return 2*x*y + math.Sin(x) },
		func(x, y, v float64) float64 { return -math.Sin(x) * y * v },
		func(x, y, v float64) float64 { return (2*y + math.Cos(x)) * v },
		func(x, y, v float64) float64 { return -math.Cos(x) * y * v },
		func(x, y, v float64) float64 { return -math.Sin(x) * v },
	}
	for i, at := range want {
		got, err := opgen.Fetch[float64](p, fetch[i])
		if err != nil {
			t.Fatal(err)
		}
		expect := make([]float64, len(a))
		for k := range expect {
			expect[k] = at(a[k], b[k], c[k])
		}
		near(t, fmt.Sprint("derivative ", i), got, expect, 1e-12)
	}
}
