package opgen_test

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/adjustscale"
	"github.com/opgen/opgen/generated/lamb"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/nonfinite"
	"github.com/opgen/opgen/generated/rmsprop"
	"github.com/opgen/opgen/generated/scaleloss"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// TestLossScale trains with and without a scaled loss by each optimizer: the weights have the same bits, as
// the factor is a power of two. A step whose gradients are not finite changes nothing but the factor.
func TestLossScale(t *testing.T) {
	t.Parallel()
	optimizers := map[string]func(...graph.Option) graph.Optimizer{
		"sgd": func(o ...graph.Option) graph.Optimizer {
			return sgd.Optimizer(sgd.Defaults(0.1).WithMomentum(0.5), o...)
		},
		"adam":    func(o ...graph.Option) graph.Optimizer { return adam.Optimizer(adam.Defaults(), o...) },
		"adamw":   func(o ...graph.Option) graph.Optimizer { return adamw.Optimizer(adamw.Defaults(), o...) },
		"lamb":    func(o ...graph.Option) graph.Optimizer { return lamb.Optimizer(lamb.Defaults(), o...) },
		"rmsprop": func(o ...graph.Option) graph.Optimizer { return rmsprop.Optimizer(rmsprop.Defaults(), 0.01, o...) },
	}
	withScale := map[string]func(factor, skip graph.Tensor) []graph.Option{
		"sgd": func(f, s graph.Tensor) []graph.Option {
			return []graph.Option{graph.With(sgd.SlotLossScale, f), graph.With(sgd.SlotSkip, s)}
		},
		"adam": func(f, s graph.Tensor) []graph.Option {
			return []graph.Option{graph.With(adam.SlotLossScale, f), graph.With(adam.SlotSkip, s)}
		},
		"adamw": func(f, s graph.Tensor) []graph.Option {
			return []graph.Option{graph.With(adamw.SlotLossScale, f), graph.With(adamw.SlotSkip, s)}
		},
		"lamb": func(f, s graph.Tensor) []graph.Option {
			return []graph.Option{graph.With(lamb.SlotLossScale, f), graph.With(lamb.SlotSkip, s)}
		},
		"rmsprop": func(f, s graph.Tensor) []graph.Option {
			return []graph.Option{graph.With(rmsprop.SlotLossScale, f), graph.With(rmsprop.SlotSkip, s)}
		},
	}
	for name, optimizer := range optimizers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// train returns the loss of a step with each input, and the factor behind it.
			train := func(scale bool, inputs ...float32) (losses, factors []float32) {
				g := graph.New(1)
				x, y := g.Input("x", dtype.F32, 2, 3), g.Input("y", dtype.F32, 2, 1)
				loss := mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(1), x)), mse.Label(y))
				root, update := loss, optimizer()
				fetch := []graph.Tensor{loss}
				if scale {
					large := scaleloss.Apply(g, scaleloss.Defaults(), loss)
					root = large
					factor := large.Node().Tensor(int(scaleloss.SlotScale))
					fetch = append(fetch, factor)
					update = func(g *graph.Graph, weights, grads []graph.Tensor) {
						found := nonfinite.Apply(g, nonfinite.Defaults(), grads[0])
						for _, grad := range grads[1:] {
							found = nonfinite.Apply(g, nonfinite.Defaults(), grad, graph.With(nonfinite.SlotBefore, found))
						}
						optimizer(withScale[name](factor, found)...)(g, weights, grads)
						adjustscale.Apply(g, adjustscale.Defaults().WithInterval(3), found, graph.Weight(adjustscale.SlotScale, factor))
					}
				}
				s := open(t)
				step, err := s.Training(t.Context(), g, root, update, fetch...)
				if err != nil {
					t.Fatal(err)
				}
				for _, in := range inputs {
					before := variables(t, s)
					if err := step.Run(t.Context(), opgen.With(x, []float32{in, 2, 3, -1, 1, 2}), opgen.With(y, []float32{1, 0})); err != nil {
						t.Fatal(err)
					}
					l, err := opgen.Fetch[float32](step, loss)
					if err != nil {
						t.Fatal(err)
					}
					losses = append(losses, l[0])
					if same := maps.EqualFunc(before, variables(t, s), bytes.Equal); same != math.IsInf(float64(in), 0) {
						t.Errorf("after a step on %v, weights and what the optimizer keeps are the same: %v", in, same)
					}
					if scale {
						f, err := opgen.Fetch[float32](step, fetch[1])
						if err != nil {
							t.Fatal(err)
						}
						factors = append(factors, f[0])
					}
				}
				return losses, factors
			}
			plain, _ := train(false, 1, 1, 1, 1)
			losses, factors := train(true, 1, 1, 1, 1)
			if !slices.Equal(plain, losses) || plain[0] == plain[3] {
				t.Errorf("losses with a factor are %v, without %v", losses, plain)
			}
			if want := []float32{1 << 16, 1 << 16, 1 << 17, 1 << 17}; !slices.Equal(factors, want) {
				t.Errorf("factors are %v, want %v", factors, want)
			}
			inf := float32(math.Inf(1))
			losses, factors = train(true, 1, inf, 1, 1, 1, 1)
			if want := []float32{1 << 16, 1 << 15, 1 << 15, 1 << 15, 1 << 16, 1 << 16}; !slices.Equal(factors, want) {
				t.Errorf("with an infinite input, factors are %v, want %v", factors, want)
			}
			// Adam and its kin count the step that is left out, and so correct less from then on.
			if losses[2] != plain[1] || math.IsNaN(float64(losses[5])) || losses[5] == losses[2] {
				t.Errorf("losses around an infinite input are %v, want %v and then %v", losses, plain[0], plain[1])
			}
		})
	}
}

// variables returns the bytes of all variables of a session but those that adjust_scale changes.
func variables(t *testing.T, s *opgen.Session) map[string][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "variables")
	if err := s.SaveVariables(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for name, v := range f.Tensors {
		if !strings.HasPrefix(name, "adjust_scale") && !strings.HasPrefix(name, "scale_loss") {
			out[name] = v.Data
		}
	}
	return out
}
