package plancache_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plancache"
	"github.com/opgen/opgen/runtime/task"
)

const features, classes = 6, 4

// network is a classifier with a regulariser, and dropout if rate is not 0.
type network struct {
	g                      *graph.Graph
	x, label, logits, loss graph.Tensor
}

func newNetwork(size int, rate float64) network {
	g := graph.New(3)
	n := network{g: g, x: g.Input("x", dtype.F32, size, features), label: g.Input("label", dtype.I32, size, 1)}
	at := linear.Defaults()
	at.OutChannels, at.Activation = 9, activation.Tanh
	at.Regularizer = attr.Some(linear.Regularizer{Type: penalty.L2, Lambda: 0.3})
	y := linear.Apply(g, at, n.x, graph.Named("hidden"))
	drop := dropout.Defaults()
	drop.Rate = rate
	y = dropout.Apply(g, drop, y, graph.Named("dropout"))
	n.logits = linear.Apply(g, linear.Attrs{OutChannels: classes, UseBias: true}, y, graph.Named("out"))
	n.loss = scce.Apply(g, scce.Defaults(), scce.Logit(n.logits), scce.Label(n.label), graph.Named("loss"))
	return n
}

var optimizer = adam.Optimizer(adam.Attrs{Alpha: 0.02, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-4})

func training(rate float64) plancache.Build[network] {
	return func(size int) (network, *graph.Program, error) {
		n := newNetwork(size%100, rate) // so that there are several plans for one size
		p, err := graph.Training(n.g, n.loss, optimizer, n.logits)
		return n, p, err
	}
}

func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// samples returns the samples numbered lo to hi-1.
func samples(lo, hi int) (x []float32, label []int32) {
	for i := lo; i < hi; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for range features {
			x = append(x, float32(r.NormFloat64()))
		}
		label = append(label, int32(r.IntN(classes)))
	}
	return x, label
}

func feed(t *testing.T, in *engine.Instance, n network, lo, hi int) {
	t.Helper()
	x, label := samples(lo, hi)
	if err := engine.Feed(in, n.x.Name(), x); err != nil {
		t.Fatal(err)
	}
	if in.Uses(n.label.Name()) {
		if err := engine.Feed(in, n.label.Name(), label); err != nil {
			t.Fatal(err)
		}
	}
}

func weights(t *testing.T, e *engine.Engine) []float32 {
	t.Helper()
	var all []float32
	for _, name := range []string{"hidden.weight", "hidden.bias", "out.weight", "out.bias"} {
		w, _, err := engine.Variable[float32](e, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w...)
	}
	return all
}

// TestStepsCountTogether trains with one plan, and with two plans for the same size that take turns: the
// weights are equal bit for bit, so the optimiser's state, its corrections and dropout go on.
func TestStepsCountTogether(t *testing.T) {
	t.Parallel()
	train := func(sizes ...int) []float32 {
		e := newEngine(t)
		c := plancache.New(e, 0, training(0.4))
		for i, size := range sizes {
			s, err := c.For(t.Context(), size)
			if err != nil {
				t.Fatal(err)
			}
			feed(t, s.Instance, s.Net, 5*i, 5*i+5)
			if err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return weights(t, e)
	}
	want := train(5, 5, 5, 5, 5)
	if got := train(5, 105, 5, 105, 105); !slices.Equal(got, want) {
		t.Errorf("two plans in turns give %v, one gives %v", got, want)
	}
}

// TestCache checks which plans stay loaded, that memory is given back, and that errors name the size.
func TestCache(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	built := []int{}
	c := plancache.New(e, 2, func(size int) (network, *graph.Program, error) {
		built = append(built, size)
		return training(0)(size)
	}, plan.Workers(2))
	used := int64(0)
	for _, size := range []int{4, 2, 4, 3, 4, 2, 3} {
		s, err := c.For(t.Context(), size)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Net.x.Shape()[0]; got != size {
			t.Errorf("got a network for batches of %d, want %d", got, size)
		}
		if again, err := c.For(t.Context(), size); err != nil || again != s {
			t.Errorf("the same size gives another instance, or %v", err)
		}
		feed(t, s.Instance, s.Net, 0, size)
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		used = max(used, e.Memory().Used)
	}
	if want := []int{4, 2, 3, 2, 3}; !slices.Equal(built, want) {
		t.Errorf("plans were built for %v, want %v", built, want)
	}
	if got := c.Sizes(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("plans of sizes %v are loaded", got)
	}
	if _, err := c.For(t.Context(), -1); err == nil || !strings.HasPrefix(err.Error(), "batches of -1: ") {
		t.Errorf("got %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left := e.Memory().Used; left == 0 || left >= used {
		t.Errorf("%d bytes are in use after Close, of %d before; want the variables", left, used)
	}
	if len(c.Sizes()) != 0 {
		t.Error("a closed cache has plans")
	}
}

// TestAccumulation trains with batches of 8, and with micro-batches of 3 and 5 whose gradients are
// added: losses and weights are equal but for rounding.
func TestAccumulation(t *testing.T) {
	t.Parallel()
	const steps, size = 6, 8
	parts := []int{3, 5}
	whole := newEngine(t)
	c := plancache.New(whole, 0, training(0))
	var want []float64
	for i := range steps {
		s, err := c.For(t.Context(), size)
		if err != nil {
			t.Fatal(err)
		}
		feed(t, s.Instance, s.Net, i*size, (i+1)*size)
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want = append(want, lossOf(t, s.Instance, s.Net))
	}
	e := newEngine(t)
	share := func(n int) float64 { return float64(n) / size }
	micro := plancache.New(e, 0, func(n int) (network, *graph.Program, error) {
		net := newNetwork(n, 0)
		p, _, err := graph.Accumulation(net.g, net.loss, graph.Share{Loss: share(n), Aux: share(n)}, optimizer)
		return net, p, err
	})
	update := plancache.New(e, 0, func(n int) (network, *graph.Program, error) {
		net := newNetwork(n, 0)
		_, p, err := graph.Accumulation(net.g, net.loss, graph.Share{Loss: 1, Aux: 1}, optimizer)
		return net, p, err
	})
	for i := range steps {
		var loss float64
		at := i * size
		for _, n := range parts {
			s, err := micro.For(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			feed(t, s.Instance, s.Net, at, at+n)
			if err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			loss += lossOf(t, s.Instance, s.Net) * share(n)
			at += n
		}
		s, err := update.For(t.Context(), parts[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if math.Abs(loss-want[i]) > 1e-5 {
			t.Errorf("step %d: the loss is %v, want %v", i, loss, want[i])
		}
	}
	got, all := weights(t, e), weights(t, whole)
	for i := range all {
		if math.Abs(float64(got[i]-all[i])) > 1e-5 {
			t.Errorf("weight %d is %v, want %v", i, got[i], all[i])
		}
	}
}

func lossOf(t *testing.T, in *engine.Instance, n network) float64 {
	t.Helper()
	v, err := engine.Fetch[float32](in, n.loss.Name())
	if err != nil {
		t.Fatal(err)
	}
	return float64(v[0])
}

// TestInference answers with the graph that training uses, and with one without dropout: the answers
// are equal, whatever the batch, while training with the same weights gives others.
func TestInference(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	trained := plancache.New(e, 0, training(0.5))
	s, err := trained.For(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	inference := func(rate float64) *plancache.Cache[network] {
		return plancache.New(e, 0, func(size int) (network, *graph.Program, error) {
			n := newNetwork(size, rate)
			p, err := graph.Inference(n.g, n.logits)
			return n, p, err
		})
	}
	answers := func(c *plancache.Cache[network], lo, hi int) []float32 {
		in, err := c.For(t.Context(), hi-lo)
		if err != nil {
			t.Fatal(err)
		}
		feed(t, in.Instance, in.Net, lo, hi)
		return run(t, in)
	}
	with, without := inference(0.5), inference(0)
	want := answers(without, 0, 4)
	if got := answers(with, 0, 4); !slices.Equal(got, want) {
		t.Errorf("with dropout switched off, the answers are %v, want %v", got, want)
	}
	if got := append(answers(with, 0, 1), answers(with, 1, 4)...); !slices.Equal(got, want) {
		t.Errorf("in batches of 1 and 3, the answers are %v, want %v", got, want)
	}
	feed(t, s.Instance, s.Net, 0, 4)
	if got := run(t, s); slices.Equal(got, want) {
		t.Error("training drops nothing")
	}
}

func run(t *testing.T, s *plancache.Sized[network]) []float32 {
	t.Helper()
	if err := s.Run(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	v, err := engine.Fetch[float32](s.Instance, s.Net.logits.Name())
	if err != nil {
		t.Fatal(err)
	}
	return v
}
