package main

import (
	"fmt"
	"strings"

	_ "github.com/opgen/opgen/formula" // divides operators
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/concat"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	attention "github.com/opgen/opgen/generated/multiheadattentiongeneral"
	"github.com/opgen/opgen/generated/slice"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/task"
)

// sizes are those of a transformer and of the mesh that trains it.
type sizes struct {
	layers, width, heads, context, tokens, texts int
	stages, batches, data, model                 int
}

// moves cut by slice and join by concat.
var moves = mesh.Moves{
	Cut: func(dim, from, count int) (*graph.Operator, task.Attrs) {
		return slice.Operator, slice.Defaults(from, count).WithAxis(dim)
	},
	Join: func(dim int) (*graph.Operator, task.Attrs) { return concat.Operator, concat.Defaults(dim) },
}

// build returns the training step for all devices, and that for a single one.
func (s *sizes) build() (divided *mesh.Divided, alone *graph.Program, err error) {
	g := graph.New(1)
	texts := s.texts * s.batches * s.data
	text := g.Input("text", dtype.I32, texts, s.context)
	norm := func(x graph.Tensor, name string) graph.Tensor {
		return layernorm.Apply(g, layernorm.Defaults(attr.ListOf(-1)), x, graph.Named(name))
	}
	x := embedding.Apply(g, embedding.Defaults(s.tokens, s.width), text, graph.Named("embedding"))
	var stages, rules []string
	for i := range s.layers {
		name := func(part string) string { return fmt.Sprintf("layer%d %s", i, part) }
		if i > 0 && i%(s.layers/s.stages) == 0 {
			stages = append(stages, fmt.Sprintf("%q", name("norm1")))
		}
		rules = append(rules, fmt.Sprintf("%q = { 0 = \"model\" }\n%q = { 0 = \"model\" }\n", name("attention.wq"), name("wide.weight")))
		y := norm(x, name("norm1"))
		a := attention.Defaults(s.width, s.heads, s.width/s.heads, s.width/s.heads, 1).WithCausal(true)
		y = attention.Apply(g, a, attention.Query(y), attention.Key(y), attention.Value(y), graph.Named(name("attention")))
		x = elementbinary.Add(g, x, y, graph.Named(name("sum1")))
		y = linear.Apply(g, linear.Defaults(4*s.width), norm(x, name("norm2")), graph.Named(name("wide")))
		y = linear.Apply(g, linear.Defaults(s.width), elementunary.Gelu(g, y, graph.Named(name("gelu"))), graph.Named(name("narrow")))
		x = elementbinary.Add(g, x, y, graph.Named(name("sum2")))
	}
	logits := linear.Apply(g, linear.Defaults(s.tokens), norm(x, "norm"), graph.Named("logits"))
	next := g.Input("next", dtype.I32, texts, s.context, 1)
	loss := scce.Apply(g, scce.Defaults().WithScaleFactor(1/float64(texts*s.context)), scce.Logit(logits), scce.Label(next), graph.Named("loss"))
	if alone, err = graph.Training(g, loss, adamw.Optimizer(adamw.Defaults())); err != nil {
		return nil, nil, err
	}
	strategy, err := mesh.Parse("strategy", fmt.Appendf(nil, "[mesh]\ndata = %d\nmodel = %d\n[divide]\ntext = { 0 = \"data\" }\n%s[pipeline]\nstages = [%s]\nmicro_batches = %d\ncut = { text = 0 }\n",
		s.data, s.model, strings.Join(rules, ""), strings.Join(stages, ", "), s.batches))
	if err != nil {
		return nil, nil, err
	}
	divided, err = mesh.Divide(alone, strategy, moves)
	return divided, alone, err
}
