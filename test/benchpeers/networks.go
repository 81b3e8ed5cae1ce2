package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
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

// network is a network with its training step, which the peer has, too.
type network struct {
	title, name string
	rate        float64
	build       func(n *built)
	// losses are those that steps 1, 2, 10 and 100 compute, each before its update.
	losses map[int]float64
	// outputs are the first elements of the output with the first weights.
	outputs []float64
}

var networks = []network{
	{title: "MLP: 50 layers of 32 features, batch 8", name: "mlp", rate: 0.001, build: mlp,
		losses: map[int]float64{1: 0.333249, 2: 0.332925, 10: 0.331198, 100: 0.326368}},
	{title: "encoder layer: batch 8, sequence 128, width 512, 8 heads, inner width 2048", name: "encoder", rate: 0.01, build: encoder,
		losses: map[int]float64{1: 1.331462, 2: 1.331376, 10: 1.330686}, outputs: []float64{-1.15393, -1.87560, -1.19065}},
}

// built is a network of generated operators.
type built struct {
	graph     *graph.Graph
	output    graph.Tensor
	x, target graph.Tensor
	tensors   map[string]named // by the name that the peer has for them
	values    []opgen.Value    // of weights
}

// named is a tensor with its elements.
type named struct {
	shape    []int
	elements []float32
}

// drawn returns tensor number k of the workloads: numbers from -a to a, from a stream of splitmix64 that begins with k.
func drawn(k uint64, a float64, dims ...int) named {
	n := 1
	for _, d := range dims {
		n *= d
	}
	t := named{dims, make([]float32, n)}
	for i := range t.elements {
		k += 0x9e3779b97f4a7c15
		z := k
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		t.elements[i] = (float32(z>>40)*float32(math.Pow(2, -23)) - 1) * float32(a)
	}
	return t
}

// dense adds a linear layer whose weight is the tensor that the peer has under a name.
func (n *built) dense(x graph.Tensor, name string, w named, a linear.Attrs) graph.Tensor {
	n.tensors[name] = w
	y := linear.Apply(n.graph, a, x)
	n.values = append(n.values, opgen.With(y.Node().Tensor(int(linear.SlotWeight)), w.elements))
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
		n.values = append(n.values, opgen.With(mixed.Node().Tensor(int(s)), qkv.elements[i*d*d:(i+1)*d*d]))
	}
	n.values = append(n.values, opgen.With(mixed.Node().Tensor(int(attention.SlotOutProj)), out.elements))
	add := func(x, y graph.Tensor) graph.Tensor {
		return elementbinary.Apply(n.graph, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(y))
	}
	norm := layernorm.Defaults(attr.ListOf(2))
	y := layernorm.Apply(n.graph, norm, add(n.x, mixed))
	h := n.dense(y, "wide", drawn(3, math.Pow(d, -0.5), inner, d), linear.Defaults(inner).WithActivation(activation.Gelu))
	h = n.dense(h, "narrow", drawn(4, math.Pow(inner, -0.5), d, inner), linear.Defaults(d))
	n.output = layernorm.Apply(n.graph, norm, add(y, h))
}

// programs is a network in a session.
type programs struct {
	*built
	session       *opgen.Session
	answer, train *opgen.Program
	loss          graph.Tensor
	losses        []float64 // of the first steps
}

// open loads a network and its training step.
func (w *network) open(ctx context.Context, threads int) (_ *programs, err error) {
	n := &built{graph: graph.New(1), tensors: map[string]named{}}
	w.build(n)
	n.target = n.graph.Input("target", dtype.F32, n.output.Shape()...)
	p := &programs{built: n, loss: mse.Apply(n.graph, mse.Defaults(), mse.Logit(n.output), mse.Label(n.target))}
	if p.session, err = opgen.Open(catalogue.Register, opgen.Workers(threads)); err != nil {
		return nil, err
	}
	if p.answer, err = p.session.Inference(ctx, n.graph, n.output); err == nil {
		p.train, err = p.session.Training(ctx, n.graph, p.loss, sgd.Optimizer(sgd.Defaults(w.rate)))
	}
	if err != nil {
		return nil, errors.Join(err, p.session.Close())
	}
	return p, nil
}

// input returns an input with its elements.
func (p *programs) input(t graph.Tensor, name string) opgen.Value {
	return opgen.With(t, p.tensors[name].elements)
}

// step runs a training step. The first one gives weights their values.
func (p *programs) step(ctx context.Context) error {
	given := []opgen.Value{p.input(p.x, "x"), p.input(p.target, "target")}
	if err := p.train.Run(ctx, append(given, p.values...)...); err != nil {
		return err
	}
	p.values = nil
	if len(p.losses) == 100 {
		return nil
	}
	l, err := opgen.Fetch[float32](p.train, p.loss)
	if err == nil {
		p.losses = append(p.losses, float64(l[0]))
	}
	return err
}

// forward runs the network alone.
func (p *programs) forward(ctx context.Context) error { return p.answer.Run(ctx, p.input(p.x, "x")) }

// check compares losses with those of the workload.
func (w *network) check(losses []float64) error {
	for at, want := range w.losses {
		if at <= len(losses) && !(math.Abs(losses[at-1]-want) <= 1e-5) {
			return fmt.Errorf("%s: want loss %v in step %d, got %v", w.title, want, at, losses[at-1])
		}
	}
	return nil
}

// network measures a network, forward and a training step, and compares the losses of both sides with those of the workload.
func (b *bench) network(w network) (_ row, err error) {
	ctx := context.Background()
	p, err := w.open(ctx, b.threads)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, p.session.Close()) }()
	c := command{Do: "network", Network: w.name}
	for name, t := range p.tensors {
		f := tensorFile{Name: name, File: filepath.Join(b.dir, name), Type: "f32", Shape: t.shape}
		c.Tensors = append(c.Tensors, f)
		data, err := binary.Append(nil, binary.LittleEndian, t.elements)
		if err != nil {
			return row{}, err
		}
		if err := os.WriteFile(f.File, data, 0o666); err != nil {
			return row{}, err
		}
	}
	if _, err := b.peer.ask(c); err != nil {
		return row{}, err
	}
	r := row{title: w.title}
	if r.both, err = b.pair("both", func() error { return p.step(ctx) }); err != nil {
		return row{}, err
	}
	if r.forward, err = b.pair("forward", func() error { return p.forward(ctx) }); err != nil {
		return row{}, err
	}
	a, err := b.peer.ask(command{Do: "losses"})
	return r, errors.Join(err, w.check(p.losses), w.check(a.Losses))
}
