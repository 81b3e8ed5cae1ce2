package main

import (
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// shape is a kind of graph. build inserts n nodes and returns what makes the program.
type shape struct {
	name    string
	build   func(g *graph.Graph, n int) func() (*graph.Program, error)
	refused bool // the graph has a cycle
}

// width is the number of elements of a tensor.
const width = 4

var shapes = []shape{
	{name: "unrelated reverse", build: unrelated(reversed)},
	{name: "chain of reverse", build: chain(reversed)},
	{name: "chain of element_unary", build: chain(exp)},
	{name: "unrelated element_unary", build: unrelated(exp)},
	{name: "x(i) = x(i-1) + x(i-2)", build: fibonacci},
	{name: "one tensor with n readers", build: readers},
	{name: "training of n linear", build: training},
	{name: "After in a chain", build: ordered(false)},
	{name: "After in a cycle", build: ordered(true), refused: true},
}

// reversed and exp insert a node.
func reversed(g *graph.Graph, x graph.Tensor) graph.Tensor {
	return reverse.Apply(g, reverse.Defaults(0), x)
}

func exp(g *graph.Graph, x graph.Tensor) graph.Tensor {
	return elementunary.Exp(g, x)
}

func sum(g *graph.Graph, x, y graph.Tensor) graph.Tensor {
	return elementbinary.Add(g, x, y)
}

func input(g *graph.Graph) graph.Tensor { return g.Input("x", dtype.F32, width) }

// inference returns what makes the program that computes the given tensors.
func inference(g *graph.Graph, fetch ...graph.Tensor) func() (*graph.Program, error) {
	return func() (*graph.Program, error) { return graph.Inference(g, fetch...) }
}

// chain builds nodes each of which takes the tensor of the last.
func chain(node func(*graph.Graph, graph.Tensor) graph.Tensor) func(*graph.Graph, int) func() (*graph.Program, error) {
	return func(g *graph.Graph, n int) func() (*graph.Program, error) {
		x := input(g)
		for range n {
			x = node(g, x)
		}
		return inference(g, x)
	}
}

// unrelated builds nodes that take the same input. All results are fetched.
func unrelated(node func(*graph.Graph, graph.Tensor) graph.Tensor) func(*graph.Graph, int) func() (*graph.Program, error) {
	return func(g *graph.Graph, n int) func() (*graph.Program, error) {
		x := input(g)
		out := make([]graph.Tensor, n)
		for i := range out {
			out[i] = node(g, x)
		}
		return inference(g, out...)
	}
}

// fibonacci builds sums of the last two tensors.
func fibonacci(g *graph.Graph, n int) func() (*graph.Program, error) {
	x, y := input(g), g.Input("y", dtype.F32, width)
	for range n {
		x, y = y, sum(g, y, x)
	}
	return inference(g, y)
}

// readers builds n/2 nodes that read one tensor, and then the sum of their results.
func readers(g *graph.Graph, n int) func() (*graph.Program, error) {
	x := input(g)
	out := make([]graph.Tensor, n/2)
	for i := range out {
		out[i] = reversed(g, x)
	}
	total := out[0]
	for _, y := range out[1:] {
		total = sum(g, total, y)
	}
	return inference(g, total)
}

// training builds a network of n layers, and the program of a training step.
func training(g *graph.Graph, n int) func() (*graph.Program, error) {
	x, y := g.Input("x", dtype.F32, 1, width), g.Input("y", dtype.F32, 1, width)
	for range n {
		x = linear.Apply(g, linear.Defaults(width), x)
	}
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(x), mse.Label(y))
	return func() (*graph.Program, error) { return graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1))) }
}

// ordered builds nodes each of which runs after the next; in a cycle, the last runs after the first.
func ordered(cycle bool) func(*graph.Graph, int) func() (*graph.Program, error) {
	return func(g *graph.Graph, n int) func() (*graph.Program, error) {
		x := input(g)
		out := make([]graph.Tensor, n)
		for i := range out {
			if out[i] = reversed(g, x); i > 0 {
				out[i-1].Node().After(out[i].Node())
			}
		}
		if cycle {
			out[n-1].Node().After(out[0].Node())
		}
		return inference(g, out...)
	}
}
