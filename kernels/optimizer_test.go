package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/rmsprop"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// TestSgd compares sgd with its definition over five steps.
func TestSgd(t *testing.T) {
	for _, momentum := range []float64{0, 0.9} {
		for _, nesterov := range []bool{false, true} {
			for _, decay := range []float64{0, 0.03} {
				at := sgd.Defaults(0.1).WithMomentum(momentum).WithNesterov(nesterov).WithWeightDecay(decay)
				var v float64
				checkOptimizer(t, sgd.Operator, at, "sgd_v", func(step int, w, g float64) (float64, float64) {
					if step == 0 {
						v = 0
					}
					g += decay * w
					v = momentum*v + g
					if nesterov {
						return w - 0.1*(g+momentum*v), v
					}
					return w - 0.1*v, v
				})
			}
		}
	}
}

// TestAdam compares adam with its definition over five steps.
func TestAdam(t *testing.T) {
	for _, betas := range [][2]float64{{0.9, 0.999}, {0, 0.5}, {0.5, 0}} {
		for _, decay := range []float64{0, 0.03} {
			for _, epsilon := range []float64{1e-8, 0.1} {
				for _, alphaT := range []attr.Opt[float64]{{}, attr.Some(0.05)} {
					at := adam.Defaults().WithAlpha(0.01).WithBeta1(betas[0]).WithBeta2(betas[1]).WithEpsilon(epsilon).WithWeightDecay(decay)
					at.AlphaT = alphaT
					var m, v float64
					checkOptimizer(t, adam.Operator, at, "adam_v", func(step int, w, g float64) (float64, float64) {
						if step == 0 {
							m, v = 0, 0
						}
						g += decay * w
						m = betas[0]*m + (1-betas[0])*g
						v = betas[1]*v + (1-betas[1])*g*g
						if alpha, ok := alphaT.Get(); ok {
							return w - alpha*m/(math.Sqrt(v)+epsilon), v
						}
						meanHat := m / (1 - math.Pow(betas[0], float64(step+1)))
						squareHat := v / (1 - math.Pow(betas[1], float64(step+1)))
						return w - 0.01*meanHat/(math.Sqrt(squareHat)+epsilon), v
					})
				}
			}
		}
	}
}

// TestAdamw compares adamw with its definition over five steps.
func TestAdamw(t *testing.T) {
	for _, decay := range []float64{0, 0.3} {
		for _, epsilon := range []float64{1e-8, 0.1} {
			at := adamw.Defaults().WithAlpha(0.01).WithBeta2(0.99).WithEpsilon(epsilon).WithWeightDecay(decay)
			var m, v float64
			checkOptimizer(t, adamw.Operator, at, "adam_v", func(step int, w, g float64) (float64, float64) {
				if step == 0 {
					m, v = 0, 0
				}
				m, v = 0.9*m+0.1*g, 0.99*v+0.01*g*g
				meanHat := m / (1 - math.Pow(0.9, float64(step+1)))
				squareHat := v / (1 - math.Pow(0.99, float64(step+1)))
				return w - 0.01*(meanHat/(math.Sqrt(squareHat)+epsilon)+decay*w), v
			})
		}
	}
}

// TestRmsprop compares rmsprop with its definition over five steps.
func TestRmsprop(t *testing.T) {
	for _, momentum := range []float64{0, 0.9} {
		for _, centered := range []bool{false, true} {
			for _, decay := range []float64{0, 0.03} {
				at := rmsprop.Defaults().WithAlpha(0.9).WithEpsilon(0.1).WithMomentum(momentum).WithCentered(centered).WithWeightDecay(decay)
				var squares, mean, v float64
				checkOptimizer(t, rmsprop.Operator, at, "rms_v", func(step int, w, g float64) (float64, float64) {
					if step == 0 {
						squares, mean, v = 0, 0, 0
					}
					g += decay * w
					squares, mean = 0.9*squares+0.1*g*g, 0.9*mean+0.1*g
					variance := squares
					if centered {
						variance -= mean * mean
					}
					v = momentum*v + g/(math.Sqrt(variance)+0.1)
					return w - 0.1*v, v // the rate of the first example
				})
			}
		}
	}
}

// checkOptimizer takes five steps and compares weights with a reference. There are many weights, so that the
// task has several ranges. reference takes a step with one weight. It returns the weight, and the value of
// the named state.
func checkOptimizer(t *testing.T, op *graph.Operator, attrs task.Attrs, state string, reference func(step int, w, g float64) (float64, float64)) {
	t.Run(fmt.Sprintf("%+v", attrs), func(t *testing.T) {
		const n, steps = 10000, 5
		rng := rand.New(rand.NewPCG(1, 2))
		weights, grads := make([]float64, n), make([][]float64, steps)
		for i := range weights {
			weights[i] = rng.NormFloat64()
		}
		for s := range grads {
			grads[s] = make([]float64, n)
			for i := range grads[s] {
				grads[s][i] = rng.NormFloat64()
			}
		}
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			tol := 1e-13
			if typ == dtype.F32 {
				tol = 1e-6
			}
			run := optimize[float64]
			if typ == dtype.F32 {
				run = optimize[float32]
			}
			got, gotState := run(t, op, attrs, state, weights, grads)
			for _, i := range []int{0, 1, 8191, 8192, n - 1} {
				w, v := weights[i], 0.0
				for s := range steps {
					w, v = reference(s, w, grads[s][i])
				}
				closeTo(t, fmt.Sprintf("%v, weight %d", typ, i), got[i], w, tol)
				if gotState != nil {
					closeTo(t, fmt.Sprintf("%v, %s %d", typ, state, i), gotState[i], v, tol)
				}
			}
		}
	})
}

// closeTo compares a number with the one that is wanted.
func closeTo(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)+tolerance) { // true for NaN too
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

// optimize runs an optimizer in a separate graph. It returns the weights, and the state if the optimizer has
// it, else nil.
func optimize[T float32 | float64](t *testing.T, o *graph.Operator, attrs task.Attrs, state string, weights []float64, grads [][]float64) (w, v []float64) {
	t.Helper()
	g := graph.New(1)
	weight, grad := g.Input("weight", dtype.Of[T](), len(weights)), g.Input("grad", dtype.Of[T](), len(weights))
	in := graph.Insert[int](g, 0, o, attrs).Bind(o.SlotNamed("weight"), weight).Bind(o.SlotNamed("grad"), grad)
	passed, err := o.Examples[0].Passed(&o.Operator)
	if err != nil {
		t.Fatal(err)
	}
	for slot, values := range passed {
		in.BindArg(slot, values...)
	}
	kept := in.Node().Tensor(o.SlotNamed(state))
	program, err := graph.Whole(g, weight)
	if err != nil {
		t.Fatal(err)
	}
	session, err := opgen.Open(catalogue.Register, opgen.Workers(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	p, err := session.Load(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(x graph.Tensor) []float64 {
		got, err := opgen.Fetch[T](p, x)
		if err != nil {
			t.Fatal(err)
		}
		return converted[float64](got)
	}
	w = weights
	for _, gr := range grads {
		if err := p.Run(t.Context(), opgen.With(weight, converted[T](w)), opgen.With(grad, converted[T](gr))); err != nil {
			t.Fatal(err)
		}
		w = numbers(weight)
	}
	if kept.Valid() {
		v = numbers(kept)
	}
	return w, v
}

// converted returns numbers as those of another type.
func converted[To, From float32 | float64](in []From) []To {
	out := make([]To, len(in))
	for i, x := range in {
		out[i] = To(x)
	}
	return out
}
