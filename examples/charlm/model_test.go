package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/opticks"
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/generated/batchmatmul"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	attention "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/transpose"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// answering returns a network for so many windows with its first weights, and the program that answers with
// it.
func answering(t *testing.T, windows int) (*network, *opgen.Program) {
	t.Helper()
	s, err := opgen.Open(catalogue.Register, opgen.Workers(1), opgen.Fuse())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	n := newNetwork(sizes{alphabet: 7, context: 6, width: 8, heads: 2, layers: 2, dropout: 0.5}, windows, 1, 0)
	p, err := s.Inference(t.Context(), n.graph, n.logits)
	if err != nil {
		t.Fatal(err)
	}
	return n, p
}

// TestCausal changes one character after the other: predictions before it keep their bits, that behind it
// changes.
func TestCausal(t *testing.T) {
	t.Parallel()
	n, p := answering(t, 1)
	text := []int32{3, 1, 4, 1, 5, 2}
	want, err := n.predict(t.Context(), p, text)
	if err != nil {
		t.Fatal(err)
	}
	for at := range text {
		changed := slices.Clone(text)
		changed[at] = 6
		got, err := n.predict(t.Context(), p, changed)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got[:at*n.alphabet], want[:at*n.alphabet]) {
			t.Errorf("character %d changes predictions before it", at)
		}
		for i := at; i < len(text); i++ {
			if slices.Equal(got[i*n.alphabet:(i+1)*n.alphabet], want[i*n.alphabet:(i+1)*n.alphabet]) {
				t.Errorf("character %d does not change the prediction behind character %d", at, i)
			}
		}
	}
}

// TestBits compares the bits of texts of several lengths with those of a window for each prediction.
func TestBits(t *testing.T) {
	t.Parallel()
	n, p := answering(t, 2)
	lead := n.lead()
	r := uint32(1)
	var text []int32
	for len(text) < 31 {
		r = r*1664525 + 1013904223
		text = append(text, int32(r>>16)%int32(n.alphabet))
	}
	for length := lead + 1; length <= len(text); length++ {
		got, err := n.bits(t.Context(), p, text[:length])
		if err != nil {
			t.Fatal(err)
		}
		want, stride := 0.0, n.context-lead+1
		for at := lead; at < length; at++ {
			begin := (at - lead) / stride * stride // of the window that predicts the character
			input := make([]int32, n.batch*n.context)
			copy(input, text[begin:at])
			logits, err := n.predict(t.Context(), p, input)
			if err != nil {
				t.Fatal(err)
			}
			want -= math.Log2(probabilities(logits[(at-begin-1)*n.alphabet:][:n.alphabet], 1)[text[at]]) / float64(length-lead)
		}
		if !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("%d characters: %g bits, want %g", length, got, want)
		}
	}
}

// TestContinued continues texts shorter and longer than the context: the same seed draws the same characters,
// and without temperature the seed does not matter.
func TestContinued(t *testing.T) {
	t.Parallel()
	n, p := answering(t, 1)
	for _, prompt := range [][]int32{{2}, {3, 1, 4, 1, 5, 2, 6, 0}} {
		outcomes := map[string]bool{}
		for _, seed := range []uint64{1, 1, 2} {
			for _, temperature := range []float64{0, 1} {
				got, err := n.continued(t.Context(), p, prompt, 12, temperature, seed)
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != len(prompt)+12 || !slices.Equal(got[:len(prompt)], prompt) {
					t.Errorf("%v continued is %v", prompt, got)
				}
				outcomes[fmt.Sprint(got)] = true
			}
		}
		if len(outcomes) != 3 {
			t.Errorf("%v has %d continuations, want one without temperature and one for each of 2 seeds", prompt, len(outcomes))
		}
	}
}

// TestDraw draws from known probabilities.
func TestDraw(t *testing.T) {
	t.Parallel()
	logits := []float32{float32(math.Log(1)), float32(math.Log(4)), float32(math.Log(4))} // 1/9, 4/9, 4/9; at temperature 0.5 1/33, 16/33, 16/33
	for _, c := range []struct {
		temperature, u float64
		want           int32
	}{{1, 0, 0}, {1, 0.111, 0}, {1, 0.112, 1}, {1, 0.555, 1}, {1, 0.556, 2}, {1, 1, 2}, {0.5, 0.030, 0}, {0.5, 0.031, 1}, {0.5, 0.515, 1}, {0.5, 0.516, 2}, {0, 0.9, 1}} {
		if got := draw(logits, c.temperature, c.u); got != c.want {
			t.Errorf("temperature %g, %g: drew %d, want %d", c.temperature, c.u, got, c.want)
		}
	}
}

// TestWeights counts the weights of a network.
func TestWeights(t *testing.T) {
	t.Parallel()
	const v, c, d, layers = 7, 6, 8, 2
	n := newNetwork(sizes{alphabet: v, context: c, width: d, heads: 2, layers: layers}, 3, 1, 0)
	layer := 2*d + 2*d + 4*(d*d+d) + (4*d*d + 4*d) + (4*d*d + d)
	if got, want := n.weights(), v*d+c*d+layers*layer+2*d+v*d+v; got != want {
		t.Errorf("%d weights, want %d", got, want)
	}
}

// TestChecked takes training steps in checked mode, and with memory of its own for every tensor. The losses
// are those without.
func TestChecked(t *testing.T) {
	t.Parallel()
	c, err := opticks.New("It is the business of this Book to explain the Properties of Light. It is the bus")
	if err != nil {
		t.Fatal(err)
	}
	o := small(t, "-context", "4", "-width", "8", "-batch", "3", "-steps", "2", "-dropout", "0.2")
	var want []float32
	for name, opts := range map[string][]opgen.Option{"": nil, "checked": {opgen.Checked()}, "plain": {opgen.Plain()}} {
		var losses []float32
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			tr, err := newTraining(t.Context(), o, c, s, planpage.Recorder(1, false), io.Discard)
			if err != nil {
				return err
			}
			for b, err := range tr.batches.From(t.Context(), 0) {
				if err != nil || b.Step == o.steps {
					return err
				}
				loss, err := tr.take(b.Data)
				if err != nil {
					return err
				}
				losses = append(losses, loss)
			}
			return nil
		}, append(opts, opgen.Workers(2), opgen.Fuse())...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want == nil {
			want = losses
		}
		if len(losses) != o.steps || !slices.Equal(losses, want) {
			t.Errorf("%s: the losses are %v, in another mode %v", name, losses, want)
		}
	}
}

// TestAttention trains attention beside the same of separate operators and a mask that is fed: from the same
// weights, losses are equal up to rounding.
func TestAttention(t *testing.T) {
	t.Parallel()
	n := &network{sizes: sizes{context: 5, width: 8, heads: 2}, batch: 3}
	mask := make([]float32, n.context*n.context)
	for i := range n.context {
		for j := i + 1; j < n.context; j++ {
			mask[i*n.context+j] = -1e9
		}
	}
	joined := losses(t, n, mask, func(x, _ graph.Tensor) (graph.Tensor, []graph.Tensor) {
		y := n.attention(x, "")
		var weights []graph.Tensor
		for _, s := range []attention.Slot{attention.SlotQProj, attention.SlotKProj, attention.SlotVProj, attention.SlotOutProj} {
			weights = append(weights, y.Node().Tensor(int(s)))
		}
		return y, weights
	})
	separate := losses(t, n, mask, n.separate)
	for i := range joined {
		if !(math.Abs(joined[i]-separate[i]) <= 1e-6) {
			t.Errorf("step %d: the loss is %g, of separate operators %g", i+1, joined[i], separate[i])
		}
	}
	if !(joined[len(joined)-1] < 0.9*joined[0]) {
		t.Errorf("losses %v do not fall", joined)
	}
}

// losses trains a part of a network, which takes characters and a mask, and returns what it makes and its
// weights of products.
func losses(t *testing.T, n *network, mask []float32, part func(x, mask graph.Tensor) (graph.Tensor, []graph.Tensor)) []float64 {
	t.Helper()
	n.graph = graph.New(1)
	g := n.graph
	x, y := g.Input("x", dtype.F32, n.batch, n.context, n.width), g.Input("y", dtype.F32, n.batch, n.context, n.width)
	m := g.Input("mask", dtype.F32, n.context, n.context)
	made, weights := part(x, m)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(made), mse.Label(y))
	// The mask is fed, so something has to read it in both networks.
	masked := reshape.Apply(g, reshape.Defaults(attr.ListOf(len(mask))), m)
	s, err := opgen.Open(catalogue.Register, opgen.Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := s.Training(t.Context(), g, loss, sgd.Optimizer(sgd.Defaults(0.5)), masked)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(r.NormFloat64() / 2)
		}
		return out
	}
	values := []opgen.Value{opgen.With(x, random(n.batch*n.context*n.width)), opgen.With(y, random(n.batch*n.context*n.width)), opgen.With(m, mask)}
	first := values
	for _, w := range weights {
		first = append(first, opgen.With(w, random(n.width*n.width)))
	}
	var out []float64
	for range 20 {
		if err := p.Run(t.Context(), first...); err != nil {
			t.Fatal(err)
		}
		first = values
		v, err := opgen.Fetch[float32](p, loss)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, float64(v[0]))
	}
	return out
}

// separate is attention of separate operators.
func (n *network) separate(x, mask graph.Tensor) (graph.Tensor, []graph.Tensor) {
	g, depth := n.graph, n.width/n.heads
	var weights []graph.Tensor
	project := func(x graph.Tensor) graph.Tensor {
		y := linear.Apply(g, linear.Defaults(n.width), x)
		weights = append(weights, y.Node().Tensor(int(linear.SlotWeight)))
		return y
	}
	heads := func(permutation ...int) graph.Tensor {
		y := reshape.Apply(g, reshape.Defaults(attr.ListOf(n.batch, n.context, n.heads, depth)), project(x))
		return transpose.Apply(g, transpose.Defaults(attr.ListOf(permutation...)), y)
	}
	query, key, value := heads(0, 2, 1, 3), heads(0, 2, 3, 1), heads(0, 2, 1, 3)
	query = elementunary.ScalarMultiply(g, query, 1/math.Sqrt(float64(depth)))
	scores := batchmatmul.Apply(g, batchmatmul.Defaults(), batchmatmul.LhsInput(query), batchmatmul.RhsInput(key))
	probs := softmax.Apply(g, softmax.Defaults(), elementbinary.Add(g, scores, mask, graph.Named("masked")))
	y := batchmatmul.Apply(g, batchmatmul.Defaults(), batchmatmul.LhsInput(probs), batchmatmul.RhsInput(value))
	y = transpose.Apply(g, transpose.Defaults(attr.ListOf(0, 2, 1, 3)), y)
	return project(reshape.Apply(g, reshape.Defaults(attr.ListOf(n.batch, n.context, n.width)), y)), weights
}
