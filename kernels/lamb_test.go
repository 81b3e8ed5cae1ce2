package kernels_test

import (
	"math"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/lamb"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestLamb compares lamb with its definition over five steps: two weights, whose norm scales the step.
func TestLamb(t *testing.T) {
	const rate, decay, epsilon = 0.05, 0.02, 1e-6
	g := graph.New(3)
	x, y := g.Input("x", dtype.F64, 1, 2), g.Input("y", dtype.F64, 1, 1)
	out := linear.Apply(g, linear.Defaults(1).WithUseBias(false), x)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(out), mse.Label(y))
	weight := out.Node().Tensor(int(linear.SlotWeight))
	in, label := []float64{1.5, -2}, 4.0
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		p, err := s.Training(t.Context(), g, loss, lamb.Optimizer(lamb.Defaults().WithAlpha(rate).WithWeightDecay(decay).WithEpsilon(epsilon)), weight, out)
		if err != nil {
			return err
		}
		var m, v, w [2]float64
		for step := range 5 {
			if err := p.Run(t.Context(), opgen.With(x, in), opgen.With(y, []float64{label})); err != nil {
				return err
			}
			got, err := opgen.Fetch[float64](p, weight)
			if err != nil {
				return err
			}
			z, err := opgen.Fetch[float64](p, out)
			if err != nil {
				return err
			}
			var move [2]float64
			for i := range in {
				grad := 2 * (z[0] - label) * in[i]
				m[i], v[i] = 0.9*m[i]+0.1*grad, 0.999*v[i]+0.001*grad*grad
				t := float64(step + 1)
				move[i] = m[i]/(1-math.Pow(0.9, t))/(math.Sqrt(v[i]/(1-math.Pow(0.999, t)))+epsilon) + decay*w[i]
			}
			trust := math.Hypot(w[0], w[1]) / math.Hypot(move[0], move[1])
			for i := range in {
				if want := w[i] - rate*trust*move[i]; step > 0 && !(math.Abs(got[i]-want) <= 1e-12) { // the first weights are drawn
					t.Errorf("step %d, weight %d: got %v, want %v", step, i, got[i], want)
				}
				w[i] = got[i]
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
