package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/rotary"
	"github.com/opgen/opgen/generated/assign"
	"github.com/opgen/opgen/generated/buffer"
	"github.com/opgen/opgen/generated/sample"
	"github.com/opgen/opgen/generated/where"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// network is the plan of a step: the network for one token of each slot, and what draws the next one.
type network struct {
	graph *graph.Graph
	pages rotary.Pages
	// Inputs, a row for each slot; see inputs.
	given, fresh, seed, temperature graph.Tensor
	drawn                           graph.Tensor // i64[slots]
}

// newNetwork builds the network for a batch of slots, each with a table of so many columns.
func newNetwork(s rotary.Sizes, slots, columns, pages, size int) *network {
	g := graph.New(1)
	n := &network{graph: g, given: g.Input("given", dtype.I64, slots), fresh: g.Input("fresh", dtype.Bool, slots), seed: g.Input("seed", dtype.I64, slots),
		temperature: g.Input("temperature", dtype.F32, slots),
		pages: rotary.Pages{Size: size, Count: pages, Position: g.Input("position", dtype.I64, slots), Table: g.Input("table", dtype.I64, slots, columns),
			Writer: g.Input("writer", dtype.I64, pages), Place: g.Input("place", dtype.I64, pages)}}
	// What a step draws stays in a variable, so that the next step begins with it wherever it runs.
	last := buffer.Apply(g, buffer.Defaults(attr.ListOf(slots)).WithDataType(dtype.I64), graph.Named("last"))
	tokens := where.Apply(g, where.Defaults(), where.Condition(n.fresh), where.Lhs(n.given), where.Rhs(last))
	logits := s.Step(g, tokens, n.pages)
	drawn := sample.Apply(g, sample.Defaults(), sample.Logits(logits), sample.Temperature(n.temperature), sample.Seed(n.seed), sample.Position(n.pages.Position))
	n.drawn = assign.Apply(g, assign.Defaults(), drawn, graph.Weight(assign.SlotValue, last.Node().Tensor(int(buffer.SlotValue))), graph.Named("keep"))
	return n
}

// load gives the variables of a session the weights in a file. What the network keeps from step to step
// stays.
func load(s *opgen.Session, weights *safetensors.File) error {
	values, err := s.Variables()
	if err != nil {
		return err
	}
	for name := range values {
		if t, ok := weights.Tensors[name]; ok {
			values[name] = t
		} else if name != "last.value" && !strings.HasSuffix(name, "attention.keys") && !strings.HasSuffix(name, "attention.values") {
			return fmt.Errorf("want a file with the weight %s, got none", name)
		}
	}
	return s.SetVariables(values)
}

// sizesOf returns the sizes of a network with so many heads, by the shapes of its weights.
func sizesOf(weights *safetensors.File, heads int) (s rotary.Sizes, err error) {
	rows := func(name string) (int, int) {
		t := weights.Tensors[name]
		if len(t.Shape) != 2 && err == nil {
			err = fmt.Errorf("want a network of charlm -groups, got a file without a matrix %s", name)
		}
		if len(t.Shape) != 2 {
			return 0, 0
		}
		return t.Shape[0], t.Shape[1]
	}
	s.Alphabet, s.Width = rows("characters.weight")
	for s.Layers = 0; weights.Tensors[fmt.Sprintf("layer%d query.weight", s.Layers+1)].Shape != nil; s.Layers++ {
	}
	features, _ := rows("layer1 key.weight")
	if err != nil {
		return s, err
	}
	s.Heads = heads
	if heads < 1 || s.Width%heads != 0 || features%(s.Width/heads) != 0 {
		return s, fmt.Errorf("want -heads that divide the width %d and the %d features of keys, got %d", s.Width, features, heads)
	}
	s.Groups = features / (s.Width / heads)
	return s, s.Check()
}

// run runs a step and returns the tokens that it drew.
func (n *network) run(ctx context.Context, p *opgen.Program, in inputs, temperature []float32) ([]int64, error) {
	err := p.Run(ctx, opgen.With(n.given, in.given), opgen.With(n.fresh, in.fresh), opgen.With(n.pages.Position, in.position), opgen.With(n.pages.Table, in.table),
		opgen.With(n.pages.Writer, in.writer), opgen.With(n.pages.Place, in.place), opgen.With(n.seed, in.seed), opgen.With(n.temperature, temperature))
	if err != nil {
		return nil, err
	}
	return opgen.Fetch[int64](p, n.drawn)
}
