package main

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/accuracy"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// network is the classifier for batches of one size.
type network struct {
	graph                        *graph.Graph
	image, label                 graph.Tensor
	logits, loss, correctAnswers graph.Tensor
}

// newNetwork builds the classifier on a device. Its nodes have names, so that networks for different batch
// sizes share their weights within a session.
func newNetwork(batch int, seed uint64, device int) *network {
	g := graph.OnDevice(seed, device)
	n := &network{graph: g}
	n.image = g.Input("image", dtype.F32, batch, 1, side, side)
	n.label = g.Input("label", dtype.I32, batch, 1)

	conv := conv2d.Defaults(16, 3, 3).WithPaddingH(1).WithPaddingW(1)
	x := conv2d.Apply(g, conv, n.image, graph.Named("conv1"))
	x = elementunary.Relu(g, x, graph.Named("relu1")) // fusion makes it a part of the operator before

	conv.OutChannels = 32
	x = conv2d.Apply(g, conv, x, graph.Named("conv2"))
	x = elementunary.Relu(g, x, graph.Named("relu2"))

	x = pool2d.Apply(g, pool2d.Defaults(2, 2).WithStrideH(2).WithStrideW(2), x, graph.Named("pool"))

	x = flat.Apply(g, flat.Defaults().WithStartDim(1), x, graph.Named("flat"))

	x = linear.Apply(g, linear.Defaults(64), x, graph.Named("hidden"))
	x = elementunary.Relu(g, x, graph.Named("relu3"))

	x = dropout.Apply(g, dropout.Defaults(0.3), x, graph.Named("dropout"))

	n.logits = linear.Apply(g, linear.Defaults(classes), x, graph.Named("out"))

	n.loss = scce.Apply(g, scce.Defaults(), scce.Logit(n.logits), scce.Label(n.label), graph.Named("loss"))
	n.correctAnswers = accuracy.Apply(g, accuracy.Defaults(), accuracy.Logit(n.logits), accuracy.Label(n.label), graph.Named("accuracy"))
	return n
}

// classifier is the network for training and for answering, with one set of weights on each device.
type classifier struct {
	train  *opgen.Batches[[]*network] // one network for each device
	answer *opgen.Batches[*network]
}

// newClassifier returns a classifier whose programs take batches of any size. Training divides each among
// devices.
func newClassifier(s *opgen.Session, seed uint64, devices int, optimizer graph.Optimizer) *classifier {
	return &classifier{
		train: opgen.NewBatches(s, 0, func(size int) ([]*network, *graph.Program, error) {
			if size < devices {
				return nil, nil, fmt.Errorf("want at least one image for each of %d devices, got %d", devices, size)
			}
			var parts []*network
			var replicas []graph.Replica
			var answers []graph.Tensor
			for device := range devices {
				images := (device+1)*size/devices - device*size/devices
				n := newNetwork(images, seed, device)
				share := float64(images) / float64(size)
				parts, answers = append(parts, n), append(answers, n.correctAnswers)
				replicas = append(replicas, graph.Replica{Loss: n.loss, Share: graph.Share{Loss: share, Aux: share}})
			}
			p, err := graph.DataParallel(replicas, optimizer, answers...)
			return parts, p, err
		}),
		answer: opgen.NewBatches(s, 0, func(size int) (*network, *graph.Program, error) {
			n := newNetwork(size, seed, 0)
			p, err := graph.Inference(n.graph, n.logits)
			return n, p, err
		}),
	}
}

// step trains on a batch and returns the loss and how many answers were right.
func (c *classifier) step(ctx context.Context, batch dataset) (loss float32, correct int, err error) {
	p, err := c.train.For(ctx, batch.len())
	if err != nil {
		return 0, 0, err
	}
	var values []opgen.Value
	images, labels := batch.images, batch.labels
	for _, n := range p.Net {
		size := n.label.Shape()[0]
		values = append(values, opgen.With(n.image, images[:size*pixels]), opgen.With(n.label, labels[:size]))
		images, labels = images[size*pixels:], labels[size:]
	}
	if err := p.Run(ctx, values...); err != nil {
		return 0, 0, err
	}
	for _, n := range p.Net {
		losses, err := opgen.Fetch[float32](p.Program, n.loss)
		if err != nil {
			return 0, 0, err
		}
		right, err := opgen.Fetch[int32](p.Program, n.correctAnswers)
		if err != nil {
			return 0, 0, err
		}
		loss += losses[0] * (float32(n.label.Shape()[0]) / float32(batch.len()))
		correct += int(right[0])
	}
	return loss, correct, nil
}

// logits returns what the network gives for each image and class.
func (c *classifier) logits(ctx context.Context, d dataset) ([]float32, error) {
	p, err := c.answer.For(ctx, d.len())
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx, opgen.With(p.Net.image, d.images)); err != nil {
		return nil, err
	}
	return opgen.Fetch[float32](p.Program, p.Net.logits)
}

// answers returns the class that the network finds for each image.
func (c *classifier) answers(ctx context.Context, d dataset) ([]int, error) {
	logits, err := c.logits(ctx, d)
	if err != nil {
		return nil, err
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
