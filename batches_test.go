package opgen_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/identityloss"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

const features, classes = 6, 4

// network is a classifier with a regularizer, and dropout if rate is not 0.
type network struct {
	g                      *graph.Graph
	x, label, logits, loss graph.Tensor
}

func newNetwork(size int, rate float64) network {
	g := graph.New(3)
	n := network{g: g, x: g.Input("x", dtype.F32, size, features), label: g.Input("label", dtype.I32, size, 1)}
	at := linear.Defaults(9)
	at.Activation = activation.Tanh
	at.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.3))
	y := linear.Apply(g, at, n.x, graph.Named("hidden"))
	drop := dropout.Defaults(rate)
	y = dropout.Apply(g, drop, y, graph.Named("dropout"))
	n.logits = linear.Apply(g, linear.Defaults(classes), y, graph.Named("out"))
	n.loss = scce.Apply(g, scce.Defaults(), scce.Logit(n.logits), scce.Label(n.label), graph.Named("loss"))
	return n
}

var optimizer = adam.Optimizer(adam.Defaults().WithAlpha(0.02).WithBeta2(0.99).WithEpsilon(1e-4))

func training(rate float64) func(int) (network, *graph.Program, error) {
	return func(size int) (network, *graph.Program, error) {
		n := newNetwork(size%100, rate) // so that there are several plans for one size
		p, err := graph.Training(n.g, n.loss, optimizer, n.logits)
		return n, p, err
	}
}

func inference(rate float64) func(int) (network, *graph.Program, error) {
	return func(size int) (network, *graph.Program, error) {
		n := newNetwork(size, rate)
		p, err := graph.Inference(n.g, n.logits)
		return n, p, err
	}
}

func open(t *testing.T, opts ...opgen.Option) *opgen.Session {
	t.Helper()
	s, err := opgen.Open(catalogue.Register, append([]opgen.Option{opgen.Workers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
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

// step runs the program for a batch of the samples numbered lo to hi-1; of a training step it feeds the
// labels.
func step(t *testing.T, b *opgen.Batches[network], size, lo, hi int, labels bool) *opgen.Batch[network] {
	t.Helper()
	p, err := b.For(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	x, label := samples(lo, hi)
	values := []opgen.Value{opgen.With(p.Net.x, x)}
	if labels {
		values = append(values, opgen.With(p.Net.label, label))
	}
	if err := p.Run(t.Context(), values...); err != nil {
		t.Fatal(err)
	}
	return p
}

func fetch(t *testing.T, p *opgen.Program, tensor graph.Tensor) []float32 {
	t.Helper()
	v, err := opgen.Fetch[float32](p, tensor)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// weights returns the variables of a program, one after the other.
func weights(t *testing.T, p *opgen.Batch[network]) []float32 {
	t.Helper()
	var all []float32
	for _, n := range p.Net.g.Nodes() {
		for slot, s := range n.Op.Slots {
			if w := n.Tensor(slot); s.Role == task.RoleWeight && w.Valid() {
				all = append(all, fetch(t, p.Program, w)...)
			}
		}
	}
	if len(all) != 9*features+9+classes*9+classes {
		t.Fatalf("got %d weights", len(all))
	}
	return all
}

// TestStepsCountTogether trains with one program, and with two programs for the same size that take turns:
// the weights are equal bit for bit, so the optimizer's state, its corrections and dropout go on.
func TestStepsCountTogether(t *testing.T) {
	t.Parallel()
	train := func(sizes ...int) []float32 {
		b := opgen.NewBatches(open(t), 0, training(0.4))
		var last *opgen.Batch[network]
		for i, size := range sizes {
			last = step(t, b, size, 5*i, 5*i+5, true)
		}
		return weights(t, last)
	}
	want := train(5, 5, 5, 5, 5)
	if got := train(5, 105, 5, 105, 105); !slices.Equal(got, want) {
		t.Errorf("two programs in turns give %v, one gives %v", got, want)
	}
}

// TestBatches checks which programs stay loaded, that memory is given back, and that errors name the size.
func TestBatches(t *testing.T) {
	t.Parallel()
	s := open(t, opgen.Plain())
	built := []int{}
	b := opgen.NewBatches(s, 2, func(size int) (network, *graph.Program, error) {
		built = append(built, size)
		return training(0)(size)
	})
	used := int64(0)
	for _, size := range []int{4, 2, 4, 3, 4, 2, 3} {
		p := step(t, b, size, 0, size, true)
		if got := p.Net.x.Shape()[0]; got != size {
			t.Errorf("got a network for batches of %d, want %d", got, size)
		}
		if again, err := b.For(t.Context(), size); err != nil || again != p {
			t.Errorf("the same size gives another program, or %v", err)
		}
		used = max(used, s.Memory().Used)
	}
	if want := []int{4, 2, 3, 2, 3}; !slices.Equal(built, want) {
		t.Errorf("programs were built for %v, want %v", built, want)
	}
	if _, err := b.For(t.Context(), -1); err == nil || !strings.HasPrefix(err.Error(), "batches of -1: ") {
		t.Errorf("got %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if left := s.Memory().Used; left == 0 || left >= used {
		t.Errorf("%d bytes are in use after Close, of %d before; want the variables", left, used)
	}
}

// TestAccumulation trains with batches of 8, and with micro-batches of 3 and 5 whose gradients are
// added: losses and weights are equal but for rounding.
func TestAccumulation(t *testing.T) {
	t.Parallel()
	const steps, size = 6, 8
	parts := []int{3, 5}
	whole := opgen.NewBatches(open(t), 0, training(0))
	s := open(t)
	share := func(n int) graph.Share { return graph.Share{Loss: float64(n) / size, Aux: float64(n) / size} }
	micro := opgen.NewBatches(s, 0, func(n int) (network, *graph.Program, error) {
		net := newNetwork(n, 0)
		p, _, err := graph.Accumulation(net.g, net.loss, share(n), optimizer)
		return net, p, err
	})
	net := newNetwork(size, 0)
	_, program, err := graph.Accumulation(net.g, net.loss, graph.Share{Loss: 1, Aux: 1}, optimizer)
	if err != nil {
		t.Fatal(err)
	}
	update, err := s.Load(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	var all, last *opgen.Batch[network]
	for i := range steps {
		all = step(t, whole, size, i*size, (i+1)*size, true)
		want := fetch(t, all.Program, all.Net.loss)[0]
		var loss float64
		at := i * size
		for _, n := range parts {
			last = step(t, micro, n, at, at+n, true)
			loss += float64(fetch(t, last.Program, last.Net.loss)[0]) * share(n).Loss
			at += n
		}
		if err := update.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(loss-float64(want)) <= 1e-5) {
			t.Errorf("step %d: the loss is %v, want %v", i, loss, want)
		}
	}
	want := weights(t, all)
	for i, got := range weights(t, last) {
		if !(math.Abs(float64(got-want[i])) <= 1e-5) {
			t.Errorf("weight %d is %v, want %v", i, got, want[i])
		}
	}
}

// TestInference answers with the graph that training uses, and with one without dropout: the answers
// are equal, whatever the batch, while training with the same weights gives others.
func TestInference(t *testing.T) {
	t.Parallel()
	s := open(t)
	trained := opgen.NewBatches(s, 0, training(0.5))
	if _, err := trained.For(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	answers := func(b *opgen.Batches[network], lo, hi int) []float32 {
		p := step(t, b, hi-lo, lo, hi, false)
		return fetch(t, p.Program, p.Net.logits)
	}
	with, without := opgen.NewBatches(s, 0, inference(0.5)), opgen.NewBatches(s, 0, inference(0))
	want := answers(without, 0, 4)
	if got := answers(with, 0, 4); !slices.Equal(got, want) {
		t.Errorf("with dropout switched off, the answers are %v, want %v", got, want)
	}
	if got := append(answers(with, 0, 1), answers(with, 1, 4)...); !slices.Equal(got, want) {
		t.Errorf("in batches of 1 and 3, the answers are %v, want %v", got, want)
	}
	p := step(t, trained, 4, 0, 4, true)
	if got := fetch(t, p.Program, p.Net.logits); slices.Equal(got, want) {
		t.Error("training drops nothing")
	}
}

// TestF20AuxiliaryShare trains with a loss that adds up samples, in one batch and in micro-batches. There the
// shares of the loss and of the regularizer differ: each sample counts whole, and each micro-batch computes
// the regularizer once more.
func TestF20AuxiliaryShare(t *testing.T) {
	t.Parallel()
	const size = 4
	update := sgd.Optimizer(sgd.Defaults(0.01))
	train := func(n int) []float32 {
		g := graph.New(4)
		x := g.Input("x", dtype.F32, n, features)
		a := linear.Defaults(1)
		a.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.5))
		y := linear.Apply(g, a, x, graph.Named("y"))
		loss := identityloss.Apply(g, identityloss.Defaults().WithReduction(identityloss.ReductionSum), y)
		parts := float64(size / n)
		micro, last, err := graph.Accumulation(g, loss, graph.Share{Loss: 1, Aux: 1 / parts}, update)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t)
		var p, q *opgen.Program
		if p, err = s.Load(t.Context(), micro); err == nil {
			q, err = s.Load(t.Context(), last)
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < size; at += n {
			values, _ := samples(at, at+n)
			if err := p.Run(t.Context(), opgen.With(x, values)); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return fetch(t, q, y.Node().Tensor(int(linear.SlotWeight)))
	}
	want := train(size)
	for _, n := range []int{1, 2} {
		for i, got := range train(n) {
			if !(math.Abs(float64(got-want[i])) <= 1e-5) {
				t.Errorf("micro-batches of %d: weight %d is %v, want %v", n, i, got, want[i])
			}
		}
	}
}
