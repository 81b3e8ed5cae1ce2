package main

import (
	"fmt"

	"github.com/opgen/opgen/examples/internal/rotary"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	attention "github.com/opgen/opgen/generated/multiheadattention"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// sizes are those of a network.
type sizes struct {
	alphabet int // characters
	context  int // characters that a prediction may depend on
	width    int // features of a character
	heads    int // of attention
	layers   int
	dropout  float64
	groups   int // heads of keys and values of a network of package rotary; 0 for one with learned positions
}

// network is a transformer for batches of one size: it predicts each next character from those before.
type network struct {
	sizes
	batch int
	graph *graph.Graph
	// The characters i32[batch, context], and those that follow each of them i32[batch, context, 1].
	text, next   graph.Tensor
	logits, loss graph.Tensor
}

// newNetwork builds the network on a device. Its nodes have names, so that networks for different batches
// share their weights within a session.
func newNetwork(s sizes, batch int, seed uint64, device int) *network {
	n := &network{sizes: s, batch: batch, graph: graph.OnDevice(seed, device)}
	g := n.graph
	n.text = g.Input("text", dtype.I32, batch, s.context)
	n.next = g.Input("next", dtype.I32, batch, s.context, 1)
	if s.groups > 0 {
		n.logits = rotaryOf(s).Texts(g, n.text)
		n.loss = n.crossEntropy()
		return n
	}
	// The table is a weight by itself, since weights of embeddings begin with greater numbers than those of
	// positions.
	table := weight.Apply(g, weight.Defaults(attr.ListOf(s.alphabet, s.width)), graph.Named("table"))
	shared := table.Node().Tensor(int(weight.SlotWeight))
	characters := embedding.Apply(g, embedding.Defaults(s.alphabet, s.width), n.text, graph.Weight(embedding.SlotWeight, shared), graph.Named("characters"))
	positions := weight.Apply(g, weight.Defaults(attr.ListOf(s.context, s.width)), graph.Named("positions"))
	x := n.drop(elementbinary.Add(g, characters, positions, graph.Named("embedded")), "embedded dropout")
	for i := range s.layers {
		layer := fmt.Sprintf("layer%d ", i+1)
		x = elementbinary.Add(g, x, n.attention(n.norm(x, layer+"norm1"), layer), graph.Named(layer+"sum1"))
		x = elementbinary.Add(g, x, n.mlp(n.norm(x, layer+"norm2"), layer), graph.Named(layer+"sum2"))
	}
	n.logits = linear.Apply(g, linear.Defaults(s.alphabet), n.norm(x, "norm"), graph.Named("logits"))
	n.loss = n.crossEntropy()
	return n
}

// rotaryOf returns the sizes of a network of package rotary.
func rotaryOf(s sizes) rotary.Sizes {
	return rotary.Sizes{Alphabet: s.alphabet, Width: s.width, Heads: s.heads, Groups: s.groups, Layers: s.layers}
}

// crossEntropy inserts the loss.
func (n *network) crossEntropy() graph.Tensor {
	a := scce.Defaults().WithScaleFactor(1 / float64(n.batch*n.context))
	return scce.Apply(n.graph, a, scce.Logit(n.logits), scce.Label(n.next), graph.Named("loss"))
}

// attention lets each character gather features of itself and of those before it.
func (n *network) attention(x graph.Tensor, layer string) graph.Tensor {
	a := attention.Defaults(n.width, n.heads).WithCausal(true).WithDropout(n.dropout)
	y := attention.Apply(n.graph, a, attention.Query(x), attention.Key(x), attention.Value(x), graph.Named(layer+"attention"))
	return n.drop(y, layer+"output dropout")
}

// mlp computes new features of each character by itself.
func (n *network) mlp(x graph.Tensor, layer string) graph.Tensor {
	x = linear.Apply(n.graph, linear.Defaults(4*n.width).WithActivation(activation.Gelu), x, graph.Named(layer+"wide"))
	x = linear.Apply(n.graph, linear.Defaults(n.width), x, graph.Named(layer+"narrow"))
	return n.drop(x, layer+"narrow dropout")
}

func (n *network) norm(x graph.Tensor, name string) graph.Tensor {
	return layernorm.Apply(n.graph, layernorm.Defaults(attr.ListOf(-1)), x, graph.Named(name))
}

func (n *network) drop(x graph.Tensor, name string) graph.Tensor {
	if n.dropout == 0 {
		return x
	}
	return dropout.Apply(n.graph, dropout.Defaults(n.dropout), x, graph.Named(name))
}

// weights returns the number of weights.
func (n *network) weights() int {
	elements := map[string]int{} // by name, since nodes share weights
	for _, node := range n.graph.Nodes() {
		for slot := range node.Op.Slots {
			for _, t := range node.Tensors(slot) {
				if t.Variable() {
					elements[t.Name()] = int(t.Operand().Bytes()) / t.Type().Size()
				}
			}
		}
	}
	sum := 0
	for _, count := range elements {
		sum += count
	}
	return sum
}
