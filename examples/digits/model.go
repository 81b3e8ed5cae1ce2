package main

import (
	"context"
	"fmt"

	"github.com/opgen/opgen/generated/accuracy"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plancache"
	"github.com/opgen/opgen/runtime/task"
)

// network is the classifier for batches of one size.
type network struct {
	graph                        *graph.Graph
	image, label                 graph.Tensor
	logits, loss, correctAnswers graph.Tensor
}

// newNetwork builds the classifier. Its nodes have names, so that networks for different batch sizes
// share their weights within an engine.
func newNetwork(batch int, seed uint64) *network {
	g := graph.New(seed)
	n := &network{graph: g}
	n.image = g.Input("image", dtype.F32, batch, 1, side, side)
	n.label = g.Input("label", dtype.I32, batch, 1)

	conv := conv2d.Defaults()
	conv.OutChannels, conv.KernelH, conv.KernelW = 16, 3, 3
	conv.PaddingH, conv.PaddingW = 1, 1
	conv.Activation = activation.Relu
	x := conv2d.Apply(g, conv, n.image, graph.Named("conv1"))

	conv.OutChannels = 32
	x = conv2d.Apply(g, conv, x, graph.Named("conv2"))

	pool := pool2d.Defaults()
	pool.KernelH, pool.KernelW, pool.StrideH, pool.StrideW = 2, 2, 2, 2
	x = pool2d.Apply(g, pool, x, graph.Named("pool"))

	join := flat.Defaults()
	join.StartDim = 1
	x = flat.Apply(g, join, x, graph.Named("flat"))

	hidden := linear.Defaults()
	hidden.OutChannels, hidden.Activation = 64, activation.Relu
	x = linear.Apply(g, hidden, x, graph.Named("hidden"))

	drop := dropout.Defaults()
	drop.Rate, drop.Seed = 0.3, int(seed)
	x = dropout.Apply(g, drop, x, graph.Named("dropout"))

	out := linear.Defaults()
	out.OutChannels = classes
	n.logits = linear.Apply(g, out, x, graph.Named("out"))

	n.loss = scce.Apply(g, scce.Defaults(), scce.Logit(n.logits), scce.Label(n.label), graph.Named("loss"))
	n.correctAnswers = accuracy.Apply(g, accuracy.Defaults(), accuracy.Logit(n.logits), accuracy.Label(n.label), graph.Named("accuracy"))
	return n
}

// session is an engine with the network for training and for answering.
type session struct {
	engine *engine.Engine
	train  *plancache.Cache[*network]
	answer *plancache.Cache[*network]
}

// newSession returns an engine whose plans, for batches of any size, share one set of weights.
func newSession(seed uint64, workers int, observer engine.Observer, opts ...plan.Option) (*session, error) {
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		return nil, err
	}
	s := &session{engine: engine.New(&registry, cpu.New(cpu.Config{Workers: workers}), engine.Config{Profile: true, Observer: observer})}
	s.train = plancache.New(s.engine, 0, func(size int) (*network, *graph.Program, error) {
		n := newNetwork(size, seed)
		p, err := graph.Training(n.graph, n.loss, adam.Optimizer(adam.Defaults()), n.correctAnswers)
		return n, p, err
	}, opts...)
	s.answer = plancache.New(s.engine, 0, func(size int) (*network, *graph.Program, error) {
		n := newNetwork(size, seed)
		p, err := graph.Inference(n.graph, n.logits)
		return n, p, err
	}, opts...)
	return s, nil
}

// step trains on a batch and returns the loss and how many answers were right.
func (s *session) step(ctx context.Context, batch dataset) (loss float32, correct int, err error) {
	t, err := s.train.For(ctx, batch.len())
	if err != nil {
		return 0, 0, err
	}
	if err := feed(t.Instance, t.Net, batch); err != nil {
		return 0, 0, err
	}
	if err := t.Run(ctx); err != nil {
		return 0, 0, err
	}
	l, err := engine.Fetch[float32](t.Instance, t.Net.loss.Name())
	if err != nil {
		return 0, 0, err
	}
	c, err := engine.Fetch[int32](t.Instance, t.Net.correctAnswers.Name())
	if err != nil {
		return 0, 0, err
	}
	return l[0], int(c[0]), nil
}

func feed(in *engine.Instance, n *network, d dataset) error {
	if err := engine.Feed(in, n.image.Name(), d.images); err != nil {
		return err
	}
	if !in.Uses(n.label.Name()) {
		return nil // answering needs no labels
	}
	return engine.Feed(in, n.label.Name(), d.labels)
}

// answers returns the class that the network finds for each image.
func (s *session) answers(ctx context.Context, d dataset) ([]int, error) {
	t, err := s.answer.For(ctx, d.len())
	if err != nil {
		return nil, err
	}
	if err := feed(t.Instance, t.Net, d); err != nil {
		return nil, err
	}
	if err := t.Run(ctx); err != nil {
		return nil, err
	}
	logits, err := engine.Fetch[float32](t.Instance, t.Net.logits.Name())
	if err != nil {
		return nil, err
	}
	if len(logits) != d.len()*classes {
		return nil, fmt.Errorf("want %d logits, got %d", d.len()*classes, len(logits))
	}
	out := make([]int, d.len())
	for i := range out {
		row := logits[i*classes : (i+1)*classes]
		for c := range row {
			if row[c] > row[out[i]] {
				out[i] = c
			}
		}
	}
	return out, nil
}
