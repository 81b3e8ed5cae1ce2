// Package rotary builds a transformer with rotary positions, grouped attention and gated MLPs, as that of
// Llama. Texts is for whole texts, by which it is trained. Step is for the next token of each of several
// texts, whose earlier tokens lie in pages. Both have the same weights, by their names.
package rotary

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/linear"
	paged "github.com/opgen/opgen/generated/pagedattention"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/rmsnorm"
	"github.com/opgen/opgen/generated/rope"
	attention "github.com/opgen/opgen/generated/scaleddotproductattention"
	"github.com/opgen/opgen/generated/transpose"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/graph"
)

// Sizes are those of a network.
type Sizes struct {
	Alphabet int // tokens that there are
	Width    int // features of a token
	Heads    int // heads of queries, which divide the width
	Groups   int // heads of keys and values, which divide the heads of queries
	Layers   int
}

// Check returns an error for sizes of which there is no network.
func (s Sizes) Check() error {
	switch {
	case s.Alphabet < 1 || s.Width < 1 || s.Heads < 1 || s.Groups < 1 || s.Layers < 0:
		return fmt.Errorf("want sizes of at least 1, got %+v", s)
	case s.Width%(2*s.Heads) != 0:
		return fmt.Errorf("want a width that %d heads divide into pairs of features, got %d", s.Heads, s.Width)
	case s.Heads%s.Groups != 0:
		return fmt.Errorf("want heads that %d heads of keys divide, got %d", s.Groups, s.Heads)
	}
	return nil
}

// depth is the number of features of a head.
func (s Sizes) depth() int { return s.Width / s.Heads }

// hidden is the number of features within an MLP: eight thirds of the width, rounded up to a multiple of 16.
func (s Sizes) hidden() int { return (8*s.Width/3 + 15) / 16 * 16 }

// Pages are what Step keeps of earlier tokens, and how it finds them: see the operator paged_attention.
type Pages struct {
	Size, Count   int          // tokens of a page, and pages
	Position      graph.Tensor // i64[B]
	Table         graph.Tensor // i64[B, N]
	Writer, Place graph.Tensor // i64[Count]
}

// Texts inserts the network for tokens [B, T], and returns the logits [B, T, Alphabet] of the tokens that
// follow each.
func (s Sizes) Texts(g *graph.Graph, tokens graph.Tensor) graph.Tensor {
	b := &builder{s, g}
	return b.network(tokens, func(layer string, query, key, value graph.Tensor) graph.Tensor {
		turned := func(x graph.Tensor, heads int, name string) graph.Tensor {
			return rope.Apply(g, rope.Defaults(), b.swap(b.heads(x, heads), 1, 2), graph.Named(layer+name))
		}
		y := attention.Apply(g, attention.Defaults().WithCausal(true), attention.Query(turned(query, s.Heads, "query rope")), attention.Key(turned(key, s.Groups, "key rope")),
			attention.Value(b.swap(b.heads(value, s.Groups), 1, 2)), graph.Named(layer+"attention"))
		return b.flat(b.swap(y, 1, 2))
	})
}

// Step inserts the network for one token [B] of each of B texts, and returns the logits [B, Alphabet] of
// the tokens that follow.
func (s Sizes) Step(g *graph.Graph, tokens graph.Tensor, p Pages) graph.Tensor {
	b := &builder{s, g}
	return b.network(tokens, func(layer string, query, key, value graph.Tensor) graph.Tensor {
		turned := func(x graph.Tensor, heads int, name string) graph.Tensor {
			x = b.swap(b.heads(x, heads), 0, 1)
			return b.swap(rope.Apply(g, rope.Defaults(), x, graph.With(rope.SlotPositions, p.Position), graph.Named(layer+name)), 0, 1)
		}
		return b.flat(paged.Apply(g, paged.Defaults(s.Groups, p.Size, p.Count), paged.Query(turned(query, s.Heads, "query rope")), paged.Key(turned(key, s.Groups, "key rope")),
			paged.Value(b.heads(value, s.Groups)), paged.Position(p.Position), paged.Table(p.Table), paged.Writer(p.Writer), paged.Place(p.Place), graph.Named(layer+"attention")))
	})
}

// builder inserts nodes for tensors whose first dimensions are those of the tokens.
type builder struct {
	Sizes
	*graph.Graph
}

// network inserts all but attention, which attend inserts between queries, keys and values [..., features].
func (b *builder) network(tokens graph.Tensor, attend func(layer string, query, key, value graph.Tensor) graph.Tensor) graph.Tensor {
	g := b.Graph
	x := embedding.Apply(g, embedding.Defaults(b.Alphabet, b.Width), tokens, graph.Named("characters"))
	for i := range b.Layers {
		layer := fmt.Sprintf("layer%d ", i+1)
		y := b.norm(x, layer+"norm1")
		query, key, value := b.linear(y, b.Width, layer+"query"), b.linear(y, b.Groups*b.depth(), layer+"key"), b.linear(y, b.Groups*b.depth(), layer+"value")
		x = elementbinary.Add(g, x, b.linear(attend(layer, query, key, value), b.Width, layer+"out"), graph.Named(layer+"sum1"))
		y = b.norm(x, layer+"norm2")
		gate := elementunary.Silu(g, b.linear(y, b.hidden(), layer+"gate"), graph.Named(layer+"silu"))
		y = elementbinary.Mul(g, gate, b.linear(y, b.hidden(), layer+"up"), graph.Named(layer+"gated"))
		x = elementbinary.Add(g, x, b.linear(y, b.Width, layer+"down"), graph.Named(layer+"sum2"))
	}
	return b.linear(b.norm(x, "norm"), b.Alphabet, "logits")
}

func (b *builder) norm(x graph.Tensor, name string) graph.Tensor {
	return rmsnorm.Apply(b.Graph, rmsnorm.Defaults(attr.ListOf(-1)), x, graph.Named(name))
}

func (b *builder) linear(x graph.Tensor, features int, name string) graph.Tensor {
	return linear.Apply(b.Graph, linear.Defaults(features).WithUseBias(false), x, graph.Named(name))
}

// heads divides features [..., heads * depth] into [..., heads, depth].
func (b *builder) heads(x graph.Tensor, heads int) graph.Tensor {
	shape := slices.Clone(x.Shape())
	return b.reshape(x, append(shape[:len(shape)-1], heads, b.depth()))
}

// flat puts heads [..., heads, depth] together again.
func (b *builder) flat(x graph.Tensor) graph.Tensor {
	shape := slices.Clone(x.Shape())
	n := len(shape) - 2
	return b.reshape(x, append(shape[:n], shape[n]*shape[n+1]))
}

func (b *builder) reshape(x graph.Tensor, shape []int) graph.Tensor {
	return reshape.Apply(b.Graph, reshape.Defaults(attr.ListOf(shape...)), x)
}

// swap exchanges two dimensions.
func (b *builder) swap(x graph.Tensor, i, j int) graph.Tensor {
	order := make([]int, len(x.Shape()))
	for k := range order {
		order[k] = k
	}
	order[i], order[j] = j, i
	return transpose.Apply(b.Graph, transpose.Defaults(attr.ListOf(order...)), x)
}
