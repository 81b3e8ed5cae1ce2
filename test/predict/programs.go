package main

import (
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	attention "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// program is what is measured: a network alone, or its training step.
type program struct {
	name  string
	tiled bool
	build func(g *graph.Graph) (output graph.Tensor)
	// loss gives the loss that is trained from the output; nil for the network alone.
	loss func(g *graph.Graph, output graph.Tensor) graph.Tensor
}

// graph returns the program.
func (p *program) graph() (*graph.Program, error) {
	g := graph.New(1)
	y := p.build(g)
	if p.loss == nil {
		return graph.Inference(g, y)
	}
	return graph.Training(g, p.loss(g, y), sgd.Optimizer(sgd.Defaults(1e-6)))
}

// programs are those that are measured. A run of each takes less than a millisecond, so that some of many
// runs are not interrupted where the machine does something else, too.
var programs = []program{
	{name: "product", build: product},
	{name: "chain", build: chain},
	{name: "chain, tiled", tiled: true, build: chain},
	{name: "elementwise", build: elementwise},
	{name: "softmax", build: rows},
	{name: "mlp, training", build: mlp, loss: squares},
	{name: "convolutions", build: convolutions},
	{name: "convolutions, tiled", tiled: true, build: convolutions},
	{name: "digits, training", build: digits, loss: classes},
	{name: "characters, training", build: characters, loss: classes},
	{name: "encoder layer", build: encoder},
	{name: "encoder layer, tiled", tiled: true, build: encoder},
}

// product is one matrix product.
func product(g *graph.Graph) graph.Tensor {
	return linear.Apply(g, linear.Defaults(256).WithUseBias(false), g.Input("x", dtype.F32, 256, 512))
}

// chain is five linear layers.
func chain(g *graph.Graph) graph.Tensor {
	x := g.Input("x", dtype.F32, 128, 256)
	for range 5 {
		x = linear.Apply(g, linear.Defaults(256).WithActivation(activation.Relu), x)
	}
	return x
}

// elementwise is a function, and a sum of tensors.
func elementwise(g *graph.Graph) graph.Tensor {
	x := g.Input("x", dtype.F32, 512, 512)
	y := elementunary.Tanh(g, x)
	return add(g, x, y)
}

// rows is two softmaxes with a norm between them.
func rows(g *graph.Graph) graph.Tensor {
	x := softmax.Apply(g, softmax.Defaults(), g.Input("x", dtype.F32, 512, 512))
	return softmax.Apply(g, softmax.Defaults(), layernorm.Apply(g, layernorm.Defaults(attr.ListOf(-1)), x))
}

// mlp is many small layers.
func mlp(g *graph.Graph) graph.Tensor {
	x := g.Input("x", dtype.F32, 32, 128)
	for range 20 {
		x = linear.Apply(g, linear.Defaults(128).WithActivation(activation.Relu), x)
	}
	return x
}

// convolutions is a small network of images.
func convolutions(g *graph.Graph) graph.Tensor {
	x := g.Input("x", dtype.F32, 16, 3, 32, 32)
	for _, channels := range []int{16, 32} {
		x = conv2d.Apply(g, conv2d.Defaults(channels, 3, 3).WithPaddingH(1).WithPaddingW(1), x)
		x = elementunary.Relu(g, x)
		x = pool2d.Apply(g, pool2d.Defaults(2, 2).WithStrideH(2).WithStrideW(2), x)
	}
	return x
}

// digits is the classifier of examples/digits without its dropout.
func digits(g *graph.Graph) graph.Tensor {
	x := g.Input("x", dtype.F32, 16, 1, 8, 8)
	for _, channels := range []int{16, 32} {
		x = conv2d.Apply(g, conv2d.Defaults(channels, 3, 3).WithPaddingH(1).WithPaddingW(1), x)
		x = elementunary.Relu(g, x)
	}
	x = pool2d.Apply(g, pool2d.Defaults(2, 2).WithStrideH(2).WithStrideW(2), x)
	x = flat.Apply(g, flat.Defaults().WithStartDim(1), x)
	x = linear.Apply(g, linear.Defaults(64).WithActivation(activation.Relu), x)
	return linear.Apply(g, linear.Defaults(10), x)
}

// characters is a transformer as that of examples/charlm, with one layer and smaller sizes.
func characters(g *graph.Graph) graph.Tensor {
	x := embedding.Apply(g, embedding.Defaults(91, 64), g.Input("text", dtype.I32, 8, 16))
	return linear.Apply(g, linear.Defaults(91), layer(g, x, 64, 4))
}

// encoder is a layer of an encoder.
func encoder(g *graph.Graph) graph.Tensor {
	return layer(g, g.Input("x", dtype.F32, 1, 32, 256), 256, 8)
}

// layer is attention and an MLP, each with a norm before it and a sum behind it.
func layer(g *graph.Graph, x graph.Tensor, width, heads int) graph.Tensor {
	norm := layernorm.Defaults(attr.ListOf(-1))
	h := layernorm.Apply(g, norm, x)
	x = add(g, x, attention.Apply(g, attention.Defaults(width, heads).WithCausal(true), attention.Query(h), attention.Key(h), attention.Value(h)))
	h = linear.Apply(g, linear.Defaults(4*width).WithActivation(activation.Gelu), layernorm.Apply(g, norm, x))
	return add(g, x, linear.Apply(g, linear.Defaults(width), h))
}

func add(g *graph.Graph, x, y graph.Tensor) graph.Tensor {
	return elementbinary.Add(g, x, y)
}

// squares is the mean of squares of differences.
func squares(g *graph.Graph, y graph.Tensor) graph.Tensor {
	return mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(g.Input("label", dtype.F32, y.Shape()...)))
}

// classes is the cross entropy of classes along the last dimension.
func classes(g *graph.Graph, y graph.Tensor) graph.Tensor {
	label := append(append([]int{}, y.Shape()[:len(y.Shape())-1]...), 1)
	return scce.Apply(g, scce.Defaults(), scce.Logit(y), scce.Label(g.Input("label", dtype.I32, label...)))
}
