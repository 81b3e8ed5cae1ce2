package main

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/moves"
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
	"github.com/opgen/opgen/runtime/mesh"
)

// network is the classifier for batches of one size.
type network struct {
	graph                        *graph.Graph
	image, label                 graph.Tensor
	logits, loss, correctAnswers graph.Tensor
}

// newNetwork builds the classifier on a device. Its nodes have names, so that networks for different batch
// sizes share their weights within a session. dropped is the share of features that are dropped in training.
func newNetwork(batch int, seed uint64, device int, dropped float64) *network {
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

	if dropped > 0 {
		x = dropout.Apply(g, dropout.Defaults(dropped), x, graph.Named("dropout"))
	}

	n.logits = linear.Apply(g, linear.Defaults(classes), x, graph.Named("out"))

	n.loss = scce.Apply(g, scce.Defaults().WithScaleFactor(1/float64(batch)), scce.Logit(n.logits), scce.Label(n.label), graph.Named("loss"))
	n.correctAnswers = accuracy.Apply(g, accuracy.Defaults(), accuracy.Logit(n.logits), accuracy.Label(n.label), graph.Named("accuracy"))
	return n
}

// learner is what trains on batches of one size: a network for each device, or one that a strategy divides.
type learner struct {
	networks []*network
	divided  *mesh.Divided // or nil
}

// classifier is the network for training and for answering, with one set of weights on each device.
type classifier struct {
	session *opgen.Session
	train   *opgen.Batches[*learner]
	answer  *opgen.Batches[*network]
}

// newClassifier returns a classifier whose programs take batches of any size. Training divides each among
// devices, by the strategy if there is one.
func newClassifier(s *opgen.Session, o *options, optimizer graph.Optimizer) *classifier {
	seed, devices := o.seed, o.devices
	return &classifier{
		session: s,
		train: opgen.NewBatches(s, 0, func(size int) (*learner, *graph.Program, error) {
			if o.mesh != nil {
				n := newNetwork(size, seed, 0, o.dropout)
				p, err := graph.Training(n.graph, n.loss, optimizer, n.logits)
				if err != nil {
					return nil, nil, err
				}
				d, err := mesh.Divide(p, o.mesh, moves.Parts)
				if err != nil {
					return nil, nil, err
				}
				return &learner{[]*network{n}, d}, d.Program, nil
			}
			if size < devices {
				return nil, nil, fmt.Errorf("want at least one image for each of %d devices, got %d", devices, size)
			}
			var parts []*network
			var replicas []graph.Replica
			var answers []graph.Tensor
			for device := range devices {
				images := (device+1)*size/devices - device*size/devices
				n := newNetwork(images, seed, device, o.dropout)
				share := float64(images) / float64(size)
				parts, answers = append(parts, n), append(answers, n.correctAnswers)
				replicas = append(replicas, graph.Replica{Loss: n.loss, Share: graph.Share{Loss: share, Aux: share}})
			}
			p, err := graph.DataParallel(replicas, optimizer, answers...)
			return &learner{networks: parts}, p, err
		}),
		answer: opgen.NewBatches(s, 0, func(size int) (*network, *graph.Program, error) {
			n := newNetwork(size, seed, 0, o.dropout)
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
	if p.Net.divided != nil {
		return p.Net.step(ctx, p.Program, batch)
	}
	var values []opgen.Value
	images, labels := batch.images, batch.labels
	for _, n := range p.Net.networks {
		size := n.label.Shape()[0]
		values = append(values, opgen.With(n.image, images[:size*pixels]), opgen.With(n.label, labels[:size]))
		images, labels = images[size*pixels:], labels[size:]
	}
	if err := p.Run(ctx, values...); err != nil {
		return 0, 0, err
	}
	for _, n := range p.Net.networks {
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

// step trains a network that a strategy divides. It counts right answers itself: engines add integers of
// several devices nowhere.
func (l *learner) step(ctx context.Context, p *opgen.Program, batch dataset) (loss float32, correct int, err error) {
	n, d := l.networks[0], l.divided
	var values []opgen.Value
	for i, images := range mesh.Cut(d, n.image, batch.images) {
		values = append(values, opgen.With(d.Inputs(n.image)[i], images))
	}
	cut := mesh.Cut(d, n.label, batch.labels)
	for i, labels := range cut {
		values = append(values, opgen.With(d.Inputs(n.label)[i], labels))
	}
	if err := p.Run(ctx, values...); err != nil {
		return 0, 0, err
	}
	losses, err := opgen.Fetch[float32](p, d.Parts(n.loss)[0])
	if err != nil {
		return 0, 0, err
	}
	for i, part := range d.Parts(n.logits) {
		if !part.Valid() {
			continue // another device has the same
		}
		logits, err := opgen.Fetch[float32](p, part)
		if err != nil {
			return 0, 0, err
		}
		for k, class := range best(logits) {
			if class == int(cut[i][k]) {
				correct++
			}
		}
	}
	return losses[0], correct, nil
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
	return best(logits), nil
}

// best returns the class with the largest logit of each image, the first of equal ones.
func best(logits []float32) []int {
	out := make([]int, len(logits)/classes)
	for i := range out {
		row := logits[i*classes : (i+1)*classes]
		for c := range row {
			if row[c] > row[out[i]] {
				out[i] = c
			}
		}
	}
	return out
}
