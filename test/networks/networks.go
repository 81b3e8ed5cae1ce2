// Package networks has the networks of the benchmarks: their graphs, the values of their weights and inputs,
// and the losses of their training, which other systems compute, too.
package networks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	attention "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// Network is a network with its training step.
type Network struct {
	Title, Short, Name string
	// Losses are those that steps compute, each before its update. The first step is step 1.
	Losses map[int]float64
	// Outputs are the first elements of the output with the first weights.
	Outputs []float64

	rate  float64
	build func(n *built)
}

// All are the networks.
var All = []Network{
	{Title: "MLP: 50 layers of 32 features, batch 8", Short: "MLP of 50 layers", Name: "mlp", rate: 0.001, build: mlp,
		Losses: map[int]float64{1: 0.333249, 2: 0.332925, 10: 0.331198, 100: 0.326368}},
	{Title: "encoder layer: batch 8, sequence 128, width 512, 8 heads, inner width 2048", Short: "encoder layer", Name: "encoder", rate: 0.01, build: encoder,
		Losses: map[int]float64{1: 1.331462, 2: 1.331376, 10: 1.330686}, Outputs: []float64{-1.15393, -1.87560, -1.19065}},
}

// Tensor is a tensor with its elements.
type Tensor struct {
	Shape    []int
	Elements []float32
}

// built is a network of generated operators.
type built struct {
	graph     *graph.Graph
	output    graph.Tensor
	x, target graph.Tensor
	tensors   map[string]Tensor
	values    []opgen.Value // of weights
}

// drawn returns tensor number k of the workloads: numbers from -a to a, from a stream of splitmix64 that
// begins with k.
func drawn(k uint64, a float64, dims ...int) Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	t := Tensor{dims, make([]float32, n)}
	for i := range t.Elements {
		k += 0x9e3779b97f4a7c15
		z := k
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		t.Elements[i] = (float32(z>>40)*float32(math.Pow(2, -23)) - 1) * float32(a)
	}
	return t
}

// dense adds a linear layer whose weight is the tensor that other systems have under a name.
func (n *built) dense(x graph.Tensor, name string, w Tensor, a linear.Attrs) graph.Tensor {
	n.tensors[name] = w
	y := linear.Apply(n.graph, a, x)
	n.values = append(n.values, opgen.With(y.Node().Tensor(int(linear.SlotWeight)), w.Elements))
	return y
}

func mlp(n *built) {
	n.tensors["x"], n.tensors["target"] = drawn(100, 1, 8, 32), drawn(200, 1, 8, 32)
	n.x = n.graph.Input("x", dtype.F32, 8, 32)
	h := n.x
	for i := range 50 {
		a := linear.Defaults(32)
		if i < 49 {
			a = a.WithActivation(activation.Relu)
		}
		h = n.dense(h, fmt.Sprint("weight", i), drawn(uint64(i+1), math.Sqrt(6./32), 32, 32), a)
	}
	n.output = h
}

func encoder(n *built) {
	const d, inner = 512, 2048
	n.tensors["x"], n.tensors["target"] = drawn(100, 1, 8, 128, d), drawn(200, 1, 8, 128, d)
	qkv, out := drawn(1, math.Pow(d, -0.5), 3*d, d), drawn(2, math.Pow(d, -0.5), d, d)
	n.tensors["qkv"], n.tensors["out"] = qkv, out
	n.x = n.graph.Input("x", dtype.F32, 8, 128, d)
	mixed := attention.Apply(n.graph, attention.Defaults(d, 8), attention.Query(n.x), attention.Key(n.x), attention.Value(n.x))
	for i, s := range []attention.Slot{attention.SlotQProj, attention.SlotKProj, attention.SlotVProj} {
		n.values = append(n.values, opgen.With(mixed.Node().Tensor(int(s)), qkv.Elements[i*d*d:(i+1)*d*d]))
	}
	n.values = append(n.values, opgen.With(mixed.Node().Tensor(int(attention.SlotOutProj)), out.Elements))
	add := func(x, y graph.Tensor) graph.Tensor {
		return elementbinary.Add(n.graph, x, y)
	}
	norm := layernorm.Defaults(attr.ListOf(2))
	y := layernorm.Apply(n.graph, norm, add(n.x, mixed))
	h := n.dense(y, "wide", drawn(3, math.Pow(d, -0.5), inner, d), linear.Defaults(inner).WithActivation(activation.Gelu))
	h = n.dense(h, "narrow", drawn(4, math.Pow(inner, -0.5), d, inner), linear.Defaults(d))
	n.output = layernorm.Apply(n.graph, norm, add(y, h))
}

// Programs is a network in a session: its training step, and the network alone.
type Programs struct {
	// Losses are those of the first 100 steps.
	Losses []float64

	network       *Network
	built         *built
	session       *opgen.Session
	answer, train *opgen.Program
	loss          graph.Tensor
}

// Open loads a network's training step into a session, which Close closes; if it fails, it closes the session
// itself. Load or the first Forward loads the network alone.
func (w *Network) Open(ctx context.Context, s *opgen.Session) (_ *Programs, err error) {
	n := &built{graph: graph.New(1), tensors: map[string]Tensor{}}
	w.build(n)
	n.target = n.graph.Input("target", dtype.F32, n.output.Shape()...)
	p := &Programs{network: w, built: n, session: s, loss: mse.Apply(n.graph, mse.Defaults(), mse.Logit(n.output), mse.Label(n.target))}
	if p.train, err = s.Training(ctx, n.graph, p.loss, sgd.Optimizer(sgd.Defaults(w.rate))); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return p, nil
}

// Close closes the session.
func (p *Programs) Close() error { return p.session.Close() }

// Tensors returns the inputs and weights, by the names that other systems have for them.
func (p *Programs) Tensors() map[string]Tensor { return p.built.tensors }

// Drop gives up the elements of weights, which the programs have after the first run.
func (p *Programs) Drop() {
	p.built.values = nil
	maps.DeleteFunc(p.built.tensors, func(name string, _ Tensor) bool { return name != "x" && name != "target" })
}

// given returns an input with its elements.
func (p *Programs) given(t graph.Tensor, name string) opgen.Value {
	return opgen.With(t, p.built.tensors[name].Elements)
}

// Step runs a training step. Weights get their values with the first call of Step or Forward.
func (p *Programs) Step(ctx context.Context) error {
	given := []opgen.Value{p.given(p.built.x, "x"), p.given(p.built.target, "target")}
	if err := p.train.Run(ctx, append(given, p.built.values...)...); err != nil {
		return err
	}
	p.built.values = nil
	if len(p.Losses) == 100 {
		return nil
	}
	l, err := opgen.Fetch[float32](p.train, p.loss)
	if err == nil {
		p.Losses = append(p.Losses, float64(l[0]))
	}
	return err
}

// Load loads the network alone, unless that was done.
func (p *Programs) Load(ctx context.Context) (err error) {
	if p.answer == nil {
		p.answer, err = p.session.Inference(ctx, p.built.graph, p.built.output)
	}
	return err
}

// Forward runs the network alone.
func (p *Programs) Forward(ctx context.Context) error {
	if err := p.Load(ctx); err != nil {
		return err
	}
	err := p.answer.Run(ctx, append(p.built.values, p.given(p.built.x, "x"))...)
	if err == nil {
		p.built.values = nil
	}
	return err
}

// Output returns the output of the last Forward.
func (p *Programs) Output() ([]float32, error) {
	return opgen.Fetch[float32](p.answer, p.built.output)
}

// Check compares losses with those of the network, which may differ by as much.
func (w *Network) Check(losses []float64, most float64) error {
	for at, want := range w.Losses {
		if at <= len(losses) && !(math.Abs(losses[at-1]-want) <= most) {
			return fmt.Errorf("%s: want loss %v in step %d, got %v", w.Title, want, at, losses[at-1])
		}
	}
	return nil
}
