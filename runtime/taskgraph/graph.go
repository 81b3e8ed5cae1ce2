// Package taskgraph makes graphs of tasks of tiles, from layers that a person divides into blocks by hand. It
// has the words of the persistent kernels of Mirage (MPK):
//
//   - A Graph is the kernel graph. Its operators are layers, and its tensors (DTensor) lie in the memory of
//     the device.
//   - A Block is the block graph of a layer: a grid of blocks, maps that say which part of each tensor a
//     block touches, and operators on tiles (STensor) within a block.
//   - Customized adds a layer to the kernel graph, and RegisterTask names the function that computes a
//     block.
//   - Tasks lowers the kernel graph to a TaskGraph: a plan with a task for each block, with the exact
//     dependencies between tasks that touch the same elements, and events as a view of these dependencies.
//
// A layer may touch its tensors in any boxes: blocks may overlap, may end in a smaller block, may touch all
// of a tensor, and may be bounded by affine functions of their number, as causal attention is. Nothing is
// left to a rule about numbers of blocks: package planner compares the boxes, and package verify proves the
// plan.
package taskgraph

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
)

// Graph is a kernel graph: layers, in the order in which their results are defined.
type Graph struct {
	name    string
	tensors []*DTensor
	layers  []*layer
}

// DTensor is a tensor in the memory of the device.
type DTensor struct {
	name   string
	typ    dtype.Type
	dims   []int
	use    plan.Use
	number int // in the graph
	graph  *Graph
}

// Name returns the tensor's name.
func (t *DTensor) Name() string { return t.name }

// Dims returns the extents of the tensor. The caller must not change them.
func (t *DTensor) Dims() []int { return t.dims }

// layer is an operator of the kernel graph.
type layer struct {
	block           *Block
	task            string // as registered; "" for a block that its operators compute
	inputs, outputs []*DTensor
}

// New returns an empty kernel graph.
func New(name string) *Graph { return &Graph{name: name} }

// NewInput returns a tensor that the caller writes before a run.
func (g *Graph) NewInput(name string, typ dtype.Type, dims ...int) *DTensor {
	return g.tensor(name, typ, plan.Fed, dims)
}

// NewTensor returns a tensor that layers write. Its memory is shared with tensors that are needed at other
// times.
func (g *Graph) NewTensor(name string, typ dtype.Type, dims ...int) *DTensor {
	return g.tensor(name, typ, plan.Internal, dims)
}

// NewOutput returns a tensor that layers write and that the caller reads after a run.
func (g *Graph) NewOutput(name string, typ dtype.Type, dims ...int) *DTensor {
	return g.tensor(name, typ, plan.Fetched, dims)
}

// NewState returns a tensor that keeps its elements from run to run, as a cache of keys and values does.
func (g *Graph) NewState(name string, typ dtype.Type, dims ...int) *DTensor {
	return g.tensor(name, typ, plan.Variable, dims)
}

func (g *Graph) tensor(name string, typ dtype.Type, use plan.Use, dims []int) *DTensor {
	t := &DTensor{name, typ, slices.Clone(dims), use, len(g.tensors), g}
	g.tensors = append(g.tensors, t)
	return t
}

// Customized appends a layer that a block graph describes. inputs and outputs are the tensors of the inputs
// and of the outputs of the block graph, in their order; nil stands for one that the layer does without. A
// tensor in both lists is changed in place. The error is an *Error: tensors are others than the block graph
// has, or the block graph cannot run.
func (g *Graph) Customized(inputs, outputs []*DTensor, b *Block) error {
	l := &layer{block: b, inputs: slices.Clone(inputs), outputs: slices.Clone(outputs)}
	fail := func(slot string, axis int, want, got string) error {
		return &Error{Graph: g.name, Layer: g.label(len(g.layers), l), Slot: slot, Axis: axis, Want: want, Got: got}
	}
	if b == nil {
		return fail("", -1, "a block graph", "nil")
	}
	for _, side := range []struct {
		what    string
		tensors []*DTensor
		slots   []*STensor
	}{{"input", inputs, b.inputs}, {"output", outputs, b.outputs}} {
		if len(side.tensors) != len(side.slots) {
			return fail("", -1, fmt.Sprintf("%d %ss", len(side.slots), side.what), fmt.Sprint(len(side.tensors)))
		}
		for i, t := range side.tensors {
			slot := fmt.Sprintf("%s %d", side.what, i)
			s := side.slots[i]
			switch {
			case t == nil && len(b.ops) > 0:
				return fail(slot, -1, "a tensor, which operators use", "none")
			case t == nil:
				continue
			case t.graph != g:
				return fail(slot, -1, "a tensor of the graph", "one of another graph")
			case !shape.Fits(t.dims, t.typ.Size()):
				return fail(slot, -1, "a shape that can be addressed", shape.Format(t.dims))
			case s.from == nil || t.typ != s.from.typ || !slices.Equal(t.dims, s.from.dims):
				return fail(slot, -1, s.operand(), t.typ.String()+shape.Format(t.dims))
			case side.what == "output" && t.use == plan.Fed:
				return fail(slot, -1, "a tensor that layers write", "an input of the graph")
			}
		}
	}
	if e := b.check(); e != nil {
		e.Graph, e.Layer = g.name, g.label(len(g.layers), l)
		return e
	}
	g.layers = append(g.layers, l)
	return nil
}

// RegisterTask names the function that computes the blocks of the layers of a block graph. TaskGraph.Load
// takes functions by this name. A layer without a name is computed by the operators of its block graph. The
// error is an *Error if no layer has the block graph, or if it has a name.
func (g *Graph) RegisterTask(b *Block, name string) error {
	found := false
	for i, l := range g.layers {
		if l.block != b {
			continue
		}
		if found = true; l.task != "" || name == "" {
			return &Error{Graph: g.name, Layer: g.label(i, l), Axis: -1, Want: "one name for its task", Got: fmt.Sprintf("%q and %q", l.task, name)}
		}
		l.task = name
	}
	if !found {
		return &Error{Graph: g.name, Axis: -1, Want: "a block graph of a layer", Got: fmt.Sprintf("another, for task %q", name)}
	}
	return nil
}

// label names a layer for messages and plans.
func (g *Graph) label(i int, l *layer) string {
	if l.task != "" {
		return fmt.Sprintf("%s %d", l.task, i)
	}
	return fmt.Sprintf("layer %d", i)
}
